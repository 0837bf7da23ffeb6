"""The embedded rig, for tests that share one; and, if asked to, a look at all answers."""

import os
import pathlib

import falcon
import pytest

from roost.rig.embedded import EmbeddedRig
from tests.external import nova


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """Two cells of three hosts in this process; shared by the tests of a module."""
    made = EmbeddedRig(tmp_path_factory.mktemp("rig"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def watch():
    """Have all answers of this process looked at, if ROOST_SHAPES is a folder for Nova."""
    folder = os.environ.get("ROOST_SHAPES")
    watch = nova.Watch(nova.read(pathlib.Path(folder)) if folder else nova.Shapes([]))
    with pytest.MonkeyPatch.context() as patched:
        if folder:
            patched.setattr(falcon.App, "__call__", watch.over(falcon.App.__call__))
        yield watch


@pytest.fixture(autouse=True)
def _answers_have_the_shapes_that_nova_gives_them(watch):
    yield
    problems, watch.problems = watch.problems, []
    assert problems == []
