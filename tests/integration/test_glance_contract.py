"""The store of Glance keeps what image stores promise: by a real Glance, with its own policies."""

import pytest

from roost import conf
from roost.image.glance import GlanceImageStore
from tests.builders import a_context
from tests.stories.image_stores import *  # noqa: F403

pytestmark = pytest.mark.timeout(900)  # the first one may have to install Glance


def _context(name, role, **values):
    token = f"{name}:{name}:{role}"
    return a_context(user_id=name, project_id=name, auth_token=token, **values)


ALICE = _context("alice", "member")
BOB = _context("bob", "member")
ADMIN = _context("ops", "admin", is_admin=True)


@pytest.fixture(scope="module")
def store(glance):
    return GlanceImageStore.from_conf(conf.of({"glance": {"endpoint_override": glance.url}}))
