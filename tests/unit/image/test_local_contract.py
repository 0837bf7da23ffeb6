"""The local store keeps what image stores promise."""

import pytest

from roost.image.local import LocalImageStore
from tests.builders import a_context
from tests.stories.image_stores import *  # noqa: F403

ALICE = a_context(user_id="alice", project_id="alice")
BOB = a_context(user_id="bob", project_id="bob")
ADMIN = a_context(user_id="admin", project_id="ops", roles=["admin"], is_admin=True)


@pytest.fixture
def store(tmp_path):
    return LocalImageStore(tmp_path / "images")
