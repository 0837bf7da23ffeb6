"""Who may do what on the buses of a rig; that brokers see it so is shown in integration."""

import re

import pytest

from roost.rig.plan import new_plan
from roost.rig.rights import on_buses


@pytest.fixture
def plan(tmp_path):
    return new_plan(tmp_path, cells=10, hosts=1)


def of(plan, user, bus):
    (found,) = [
        each
        for each in on_buses(plan)
        if (each.user, each.vhost) == (plan.bus_user(user), plan.bus_name(bus))
    ]
    return found


def test_daemons_do_everything_on_the_bus_of_their_own_level(plan):
    own = of(plan, "cell1", "cell1")
    assert (own.configure, own.write, own.read, own.topics) == (".*", ".*", ".*", {})


def test_no_cell_has_rights_on_the_bus_of_another(plan):
    users = {each.user for each in on_buses(plan) if each.vhost == plan.bus_name("cell2")}
    assert users == {plan.bus_user(whose) for whose in ("cell2", "cell2-host1", "api")}


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("cell-scheduler", True), ("cell-scheduler.one", True), ("nobody", True),
        ("scheduler", False), ("super-conductor", False), ("cell-schedulers", False), ("#", False),
    ],
)  # fmt: skip
def test_a_cell_publishes_to_the_schedulers_only(plan, key, allowed):
    bus = plan.bus_name("api")
    pattern = of(plan, "cell1", "api").topics[bus]
    assert bool(re.search(pattern, f"{bus}.{key}")) == allowed


@pytest.mark.parametrize(
    ("key", "published", "bound"),
    [
        ("cell-conductor", True, False), ("compute.cell1-host1", True, True),
        ("compute", False, True), ("compute.cell1-host2", False, False), ("#", False, False),
    ],
)  # fmt: skip
def test_a_host_asks_its_conductors_and_serves_under_its_own_name(plan, key, published, bound):
    bus = plan.bus_name("cell1")
    host = of(plan, "cell1-host1", "cell1")
    assert bool(re.search(host.topics[bus], f"{bus}.{key}")) == published
    assert bool(re.search(host.bindings[bus], f"{bus}.{key}")) == bound
    listens = re.search(host.read, f"{bus}.{key}")
    assert bool(listens) == bound


def test_a_cell_has_its_own_queues_of_answers_and_no_other(plan):
    guest = of(plan, "cell1", "api")
    own, other = (f"reply_{plan.bus_user(cell)}_0a1b" for cell in ("cell1", "cell10"))
    for pattern in (guest.configure, guest.write, guest.read):
        assert re.search(pattern, own)
        assert not re.search(pattern, other)
        assert not re.search(pattern, "amq.default")
    assert not re.search(guest.read, plan.bus_name("api"))
