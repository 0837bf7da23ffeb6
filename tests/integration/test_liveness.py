"""The stories of life and death on daemons of their own, which are killed for real."""

import pytest

from tests.parts import second
from tests.stories.cloud import Cloud
from tests.stories.killed_daemons import *  # noqa: F403
from tests.stories.liveness import *  # noqa: F403
from tests.stories.real_rig import QUICK, running
from tests.stories.recovery import *  # noqa: F403

SOON = {
    "DEFAULT": {"service_report_interval": 1.0, "service_down_time": 6.0},
    "conductor": QUICK["conductor"],
}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(
    scope="module",
    params=[("threading", "postgresql", "db"), second(("eventlet", "mariadb", "tooz"))],
    ids="-".join,
)
def cloud(request, rabbitmq, redis):
    mode, kind, driver = request.param
    groups = {"driver": driver, "url": redis.url()}
    database = request.getfixturevalue(kind)
    with running(mode, rabbitmq, database, overrides=SOON | {"servicegroup": groups}) as rig:
        cloud = Cloud(rig)
        yield cloud
        cloud.close()
