"""Daemons whose clocks are minutes apart, each in another direction, are as good as others."""

import datetime
import pathlib
import re
import subprocess

import pytest

from tests.stories.boots import (
    clean_slate,
    test_a_build_that_fails_on_one_host_goes_on_to_another,
    test_one_request_boots_many,
)
from tests.stories.cloud import Cloud
from tests.stories.power import test_a_server_is_stopped_and_started_again
from tests.stories.real_rig import running

__all__ = [
    "clean_slate",
    "test_a_build_that_fails_on_one_host_goes_on_to_another",
    "test_a_server_is_stopped_and_started_again",
    "test_one_request_boots_many",
]

SOURCE = pathlib.Path(__file__).parents[1] / "fakes" / "wrong_clock.c"
# Minutes by which each daemon's clock is ahead.
AHEAD = {
    "api": 6,
    "super-conductor": -7,
    "scheduler": 13,
    "cell1-conductor": -4,
    "cell1-host1": 5,
    "cell1-host2": -9,
}
SOON = {"DEFAULT": {"service_report_interval": 1.0}}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def wrong_clock(tmp_path_factory):
    """The library that lets a process have a clock of its own."""
    library = tmp_path_factory.mktemp("clock") / "wrong_clock.so"
    command = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, SOURCE]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def cloud(rabbitmq, postgresql, wrong_clock):
    environments = {
        name: {"LD_PRELOAD": str(wrong_clock), "CLOCK_AHEAD": str(60 * minutes)}
        for name, minutes in AHEAD.items()
    }
    more = {"cells": 1, "hosts": 2, "environments": environments}
    with running("threading", rabbitmq, postgresql, overrides=SOON, **more) as rig:
        assert {daemon.name for daemon in rig.plan.daemons} == set(AHEAD)
        cloud = Cloud(rig)
        yield cloud
        cloud.close()


@pytest.mark.parametrize("daemon", AHEAD)
def test_each_daemon_has_its_own_time(cloud, daemon):
    """As its log says, whose first line is some seconds old."""
    log = cloud.plan.log_file(daemon).read_text()
    first = datetime.datetime.fromisoformat(re.search(r"^\d{4}-\S+ [\d:]+", log, re.MULTILINE)[0])
    ahead = (first - datetime.datetime.now()).total_seconds() / 60  # noqa: DTZ005 - as logs have it
    assert AHEAD[daemon] - 5 < ahead < AHEAD[daemon] + 0.1


def test_all_hosts_are_up(cloud):
    assert {report.host: report.up for report in cloud.hosts().values()} == dict.fromkeys(
        cloud.plan.all_hosts, True
    )
    assert {cloud.service(host)["state"] for host in cloud.plan.all_hosts} == {"up"}


def test_a_request_of_which_nobody_was_told_is_taken_up(cloud):
    with cloud.without("super-conductor"):
        (uuid,) = cloud.boot()
    cloud.wait([uuid], "ACTIVE")
