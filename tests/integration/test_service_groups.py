"""Groups by tooz keep their promises in a real Redis, also while that is away."""

import time
from urllib.parse import urlsplit

import pytest

from roost.rig.forwarder import Forwarder
from roost.servicegroup.tooz import ToozGroup
from tests.builders import CELL1
from tests.fakes.service_groups import RedisWorld
from tests.stories.cloud import wait_until
from tests.stories.service_groups import *  # noqa: F403
from tests.stories.service_groups import DOWN_TIME
from tests.stories.tooz_groups import *  # noqa: F403


@pytest.fixture
def world(redis):
    made = RedisWorld(redis.url())
    yield made
    made.close()


@pytest.fixture
def way(redis):
    parts = urlsplit(redis.url())
    made = Forwarder((parts.hostname, parts.port))
    made.open()
    yield made
    made.close()


def test_a_membership_runs_out_by_itself(world, redis):
    """The other stories let time pass by turning at it; here nobody does."""
    killed = ToozGroup(redis.url(), member="roost-compute:h1", down_time=1)
    killed.beat(CELL1)
    assert world.up(among=("h1",)) == {"h1"}
    wait_until(lambda: world.up(among=("h1",)) == set(), "the end of the membership", timeout=5)


def test_an_outage_costs_a_bounded_wait_and_the_group_tells_again_after_it(world, way):
    """Redis itself runs on: only the way of one conductor is shut."""
    url = f"redis://127.0.0.1:{way.port}"
    conductor = ToozGroup(
        url,
        member="roost-cell-conductor:c1",
        down_time=DOWN_TIME,
        clock=lambda: time.monotonic() + world.seconds,
    )
    conductor.beat(CELL1)
    world.speak("h1")
    assert world.up(by=conductor, among=("h2",), heard=("h2",)) == {"h1"}

    way.close()
    began = time.monotonic()
    for _ in range(3):
        assert world.up(by=conductor, among=("h2",), heard=("h2",)) == {"h2"}
    assert time.monotonic() - began < 4

    way.open()
    wait_until(
        lambda: world.up(by=conductor, among=("h2",), heard=("h2",)) == {"h1", "h2"}, "its return"
    )
    world.seconds += DOWN_TIME
    assert world.up(by=conductor, among=("h2",), heard=("h2",)) == {"h1"}
    conductor.close()
