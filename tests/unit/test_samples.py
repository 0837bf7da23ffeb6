"""The samples in etc/roost are what the options and policies say today."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    programs = pathlib.Path(sys.executable).parent
    subprocess.run(
        ["sh", str(ROOT / "tools/samples.sh"), str(folder)],
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    return folder


@pytest.mark.parametrize("name", ["roost.conf.sample", "policy.yaml.sample"])
def test_the_sample_is_up_to_date(generated, name):
    kept = (ROOT / "etc/roost" / name).read_text()
    assert (generated / name).read_text() == kept, f"etc/roost/{name} is stale: run make samples"
