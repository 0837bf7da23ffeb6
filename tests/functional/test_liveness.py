"""The stories of life and death on the embedded rig, with each way to know who is alive."""

import pytest

from tests.functional.embedded import embedded_cloud
from tests.parts import second
from tests.stories.liveness import *  # noqa: F403
from tests.stories.recovery import *  # noqa: F403

SOON = {
    "DEFAULT": {"service_report_interval": 0.5, "service_down_time": 4.0},
    "conductor": {"sweep_interval": 1.0, "task_lease_seconds": 4.0},
}


@pytest.fixture(scope="module", params=["db", second("tooz")])
def cloud(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    groups = {"driver": request.param, "url": f"file://{folder}/groups"}
    with embedded_cloud(folder / "rig", overrides=SOON | {"servicegroup": groups}) as cloud:
        yield cloud
