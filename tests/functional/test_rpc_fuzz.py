"""Rubbish to every method of every interface: no daemon dies of it, and errors are clean.

The daemons are real, in a world of their own (``tests/simulation``); so is the dispatching.
"""

import json
import logging
import types

import hypothesis
import pytest
from hypothesis import strategies as st

from roost import exception
from roost.callers import BUS_USER
from roost.context import admin_context
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.scheduler import CellScheduler, Scheduler, SchedulerFeed
from roost.rpc.super_conductor import SuperConductor
from roost.scheduler.client import SchedulerClient
from tests import builders
from tests.rpc_methods import METHODS, arguments_of
from tests.simulation.fault_model import Calm
from tests.simulation.simulated_cloud import World

SERVED_BY = {
    SuperConductor: ("super-conductor", "api"),
    Scheduler: ("scheduler", "api"),
    CellScheduler: ("scheduler", "api"),
    SchedulerFeed: ("scheduler", "api"),
    CellConductor: ("cell1-conductor", "cell1"),
    Compute: ("cell1-host1", "cell1"),
}
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["x" * 70_000, 2**80, -1, "", "\x00", "nobody", builders.a_uuid()]),
)
broken_object = st.fixed_dictionaries(
    {
        "roost_object.name": st.sampled_from(["Instance", "RequestSpec", "Selection", "None"]),
        "roost_object.namespace": st.sampled_from(["roost", "nova"]),
        "roost_object.version": st.sampled_from(["1.0", "9.9", "x"]),
        "roost_object.data": st.dictionaries(
            st.sampled_from(["uuid", "host", "flavor", "attempt", "instances", "strange"]),
            scalars,
            max_size=4,
        ),
    }
)
values = st.recursive(
    st.one_of(scalars, broken_object),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def world():
    logging.disable()
    with World("fuzz", Calm()) as world:
        world.start()
        world.loop.run(world.loop.now + 3)
        assert world.all_serve()
        yield world
    logging.disable(logging.NOTSET)


def send(world, interface, message, context=None):
    """Send a raw message, and return (answer, failure)."""
    server, level = SERVED_BY[interface]
    bus = world.plan.bus_name(level)
    target = types.SimpleNamespace(topic=f"{bus}.{interface.topic}", server=server, exchange=bus)
    context = admin_context().to_dict() if context is None else context
    if isinstance(context, dict):  # from somebody who is let in
        user = world.plan.bus_user(server if interface is Compute else level)
        context = {**context, BUS_USER: user}

    def ask():
        try:
            return world.network.send(target, context, message, timeout=30), None
        except Exception as error:  # noqa: BLE001 - it is looked at
            return None, error

    return world.do(ask, within=60)


def is_clean(failure):
    """Our own kinds, or an error that the library knows how to carry."""
    name = type(failure).__name__
    return (
        isinstance(failure, exception.RoostError)
        or name.endswith("_Remote")
        or type(failure).__module__ == "builtins"  # as the library carries them
        or name in ("RemoteError", "NoSuchMethod", "UnsupportedVersion", "MessagingTimeout")
    )


def check_serves(world, interface):
    good = {
        SuperConductor: (
            "schedule_and_build_instances",
            {"request_uuid": "u", "instance_uuids": []},
        ),
        Scheduler: ("list_claims", {}),
        CellScheduler: ("release_claims", {"instance_uuids": []}),
        SchedulerFeed: ("hosts_changed", arguments_of(SchedulerFeed, "hosts_changed")),
        CellConductor: ("list_instances", {"host": "cell1-host1"}),
        Compute: ("list_guests", {}),
    }
    method, arguments = good[interface]
    _answer, failure = send(
        world, interface, {"method": method, "args": arguments, "version": "1.0"}
    )
    assert failure is None, repr(failure)
    assert not world.processes[SERVED_BY[interface][0]].dead


def checked(world, interface, message, context=None):
    answer, failure = send(world, interface, message, context)
    assert failure is None or is_clean(failure), repr(failure)
    json.dumps(answer)
    assert world.loop.accidents == []


@pytest.mark.parametrize(
    ("interface", "method"), METHODS, ids=lambda part: getattr(part, "topic", part)
)
def test_no_daemon_dies_of_rubbish(world, interface, method):
    declared = interface.methods[method].signature.parameters
    names = [name for name in declared if name not in ("self", "context")]
    serializer = world.bus(world.ground.confs["api"]).serializer

    @hypothesis.settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(data=st.data())
    def rubbish(data):
        args = serializer.serialize_entity(None, arguments_of(interface, method))
        for name in data.draw(st.lists(st.sampled_from([*names, "strange"]), max_size=3)):
            args[name] = data.draw(values)
        if names and data.draw(st.integers(0, 9)) == 0:
            del args[data.draw(st.sampled_from(names))]
        checked(world, interface, {"method": method, "args": args, "version": "1.0"})

    rubbish()
    check_serves(world, interface)


def test_hosts_that_sent_rubbish_do_not_spoil_the_scheduler(world):
    scheduler = world.do(
        lambda: list(
            SchedulerClient(world.bus(world.ground.confs["api"])).all_hosts(admin_context())
        )
    )
    assert {report.host for report in scheduler} >= set(world.plan.all_hosts)
