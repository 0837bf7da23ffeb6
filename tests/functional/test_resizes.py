"""The stories of servers that get another flavor: on another host, and on the only one."""

import pytest

from tests.functional.embedded import embedded_cloud
from tests.stories.power import act, boot, history, wait_at_rest
from tests.stories.resizes import *  # noqa: F403

SOON = {"conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0}}
HERE = SOON | {"api": {"allow_resize_to_same_host": True}}


@pytest.fixture(scope="module", params=["elsewhere", "here"])
def cloud(tmp_path_factory, request):
    here = request.param == "here"
    values = (
        {"hosts": 1, "cells": 1, "overrides": HERE} if here else {"hosts": 3, "overrides": SOON}
    )
    with embedded_cloud(tmp_path_factory.mktemp("rig"), **values) as cloud:
        yield cloud


def test_a_move_that_its_user_does_not_confirm_is_confirmed_after_some_time(tmp_path):
    overrides = SOON | {"compute": {"resize_confirm_window": 1}}
    with embedded_cloud(tmp_path, cells=1, hosts=2, overrides=overrides) as cloud:
        before = boot(cloud)
        act(cloud, before["id"], {"migrate": None})
        wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")
        after = wait_at_rest(cloud, before["id"], "ACTIVE")
        assert after["OS-EXT-SRV-ATTR:host"] != before["OS-EXT-SRV-ATTR:host"]
        assert history(cloud, before["id"])[0]["action"] == "confirmResize"
        assert cloud.audit() == {}
        cloud.delete_all()
