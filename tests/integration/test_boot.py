"""The stories on daemons of their own: threads on RabbitMQ and PostgreSQL, eventlet on MariaDB."""

import pytest

from tests.parts import second
from tests.stories.boots import *  # noqa: F403
from tests.stories.cloud import Cloud
from tests.stories.quota_and_audit import *  # noqa: F403
from tests.stories.real_rig import PATIENT, running
from tests.stories.server_groups import *  # noqa: F403


@pytest.fixture(
    scope="module",
    params=[("threading", "postgresql"), second(("eventlet", "mariadb"))],
    ids="-".join,
)
def cloud(request, rabbitmq):
    mode, kind = request.param
    database = request.getfixturevalue(kind)
    with running(mode, rabbitmq, database, overrides=PATIENT) as rig:
        cloud = Cloud(rig)
        yield cloud
        cloud.close()
