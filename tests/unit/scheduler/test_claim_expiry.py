"""What becomes of claims as time goes by: confirmed, expired, healed."""

import pytest

from roost import exception
from roost.objects import InstanceResources
from roost.rpc.scheduler import RESERVATION_LIFETIME
from tests.builders import (
    a_numa_cell,
    a_numa_topology,
    a_report,
    a_selection,
    a_spec,
    a_uuid,
    taken,
)

SIZES = taken(vcpus=1, memory_mb=512, disk_gb=1)


@pytest.fixture
def place(manager, context):
    """Claim a host for new instances; return their uuids."""

    def place(count=1, **spec):
        uuids = [a_uuid() for _ in range(count)]
        manager.select_destinations(
            context, request_spec=a_spec(**spec), instance_uuids=uuids, alternates=0
        )
        return uuids

    return place


@pytest.fixture
def states(manager, context):
    return lambda: {c["instance_uuid"]: c["state"] for c in manager.list_claims(context)}


@pytest.fixture
def used(manager, context):
    return lambda: {host.host: host.amount("VCPU", "used") for host in manager.list_hosts(context)}


@pytest.fixture
def say(manager, context, clock):
    """Have a host report what it holds, a second after it last did."""

    def say(host="h1", *, built=(), building=(), by=manager, **values):
        clock.pass_(1)
        report = a_report(
            host,
            reported_at=clock.now,
            instances=[*built, *building],
            holdings=dict.fromkeys(built, SIZES),
            **values,
        )
        by.update_resource_stats(context, report=report)

    return say


def test_a_claim_that_no_host_confirms_expires(manager, clock, say, place, states, used):
    say()
    place()
    clock.pass_(RESERVATION_LIFETIME)
    assert manager.expire_claims() == 0
    clock.pass_(1)
    assert manager.expire_claims() == 1
    assert (states(), used()) == ({}, {"h1": 0})


def test_a_claim_that_its_host_confirmed_stays(manager, clock, say, place, states):
    say()
    (uuid,) = place()
    say(building=[uuid])
    clock.pass_(100_000)
    assert manager.expire_claims() == 0
    assert states() == {uuid: "confirmed"}


def test_a_claim_confirmed_just_before_it_is_dropped_stays(
    manager, clock, say, place, states, monkeypatch
):
    say()
    (uuid,) = place()
    clock.pass_(601)
    drop = manager._claims.drop

    def late(claims):
        monkeypatch.undo()
        say(building=[uuid])
        drop(claims)

    monkeypatch.setattr(manager._claims, "drop", late)
    manager.expire_claims()
    assert states() == {uuid: "confirmed"}


def test_a_confirmed_claim_whose_instance_is_gone_ends(say, place, states, used):
    say()
    stays, goes = place(2)
    say(built=[stays, goes])
    say(built=[stays])
    assert (states(), used()) == ({stays: "confirmed"}, {"h1": 1})


def test_a_build_that_its_host_has_not_heard_of_keeps_its_claim(say, place, states):
    say()
    (uuid,) = place()
    for _ in range(3):
        say()
    assert states() == {uuid: "reserved"}


def test_an_instance_without_a_claim_gets_one_when_it_is_reported_twice(say, states, used):
    uuid = a_uuid()
    say(built=[uuid])
    assert states() == {}
    say(built=[uuid])
    assert (states(), used()) == ({uuid: "confirmed"}, {"h1": 1})


def test_a_claim_that_it_gets_holds_the_cpus_that_it_has(manager, context, say):
    here, other = a_uuid(), a_uuid()
    pinned = a_numa_topology({"pcpus": [0]}, cpu_policy="dedicated")
    pinned.cells[0].host_cell, pinned.cells[0].pinning = 0, [3]
    resources = InstanceResources.of(instance_uuid=here, numa_topology=pinned, pci=[])
    cell = a_numa_cell(0, pcpus=[3, 4])
    for _ in range(2):
        say(built=[here], instance_resources=[resources], numa_cells=[cell], pcpus=2)
    wish = a_spec(numa_topology=a_numa_topology({"pcpus": [0]}, cpu_policy="dedicated"))
    ((chosen,),) = manager.select_destinations(
        context, request_spec=wish, instance_uuids=[other], alternates=0
    )
    assert chosen.numa_topology.cells[0].pinning == [4]


def test_an_instance_whose_claim_is_elsewhere_gets_none(say, place, states, manager, context):
    say("h1")
    (uuid,) = place()
    say("h1", built=[uuid])
    say("h2")
    to = a_selection("h2")
    manager.move_claim(context, instance_uuid=uuid, request_spec=a_spec(), to=to, leaving="h1")
    for _ in range(3):
        say("h1", built=[uuid])
    assert {c["host"] for c in manager.list_claims(context)} == {"h2"}


def test_a_late_report_of_what_was_released_revives_nothing(say, place, states, manager, context):
    say()
    (uuid,) = place()
    say(built=[uuid])
    manager.release_claims(context, instance_uuids=[uuid])
    say(built=[uuid])
    say()
    assert states() == {}


def test_a_host_that_has_settled_is_compared_again_when_its_claims_change(say, place, states):
    say()
    (first,) = place()
    say(built=[first])
    say(built=[first])
    (second,) = place()
    say(built=[first])
    assert states() == {first: "confirmed", second: "reserved"}
    say(built=[first, second])
    assert states() == {first: "confirmed", second: "confirmed"}


def test_claims_are_restored_on_demand_where_there_are_none(say, manager, context, place, used):
    say()
    (held,) = place()
    lost = a_uuid()
    holdings = {held: SIZES, lost: taken(vcpus=2, memory_mb=512, disk_gb=1)}
    for expected in ([lost], []):
        got = manager.restore_claims(context, host="h1", node="h1", holdings=holdings)
        assert got == expected
    assert used() == {"h1": 3}


def test_a_host_that_holds_claims_is_not_removed(say, place, manager, context):
    say()
    (uuid,) = place()
    with pytest.raises(exception.Conflict, match="h1 holds 1 claims"):
        manager.remove_host(context, host="h1")
    manager.release_claims(context, instance_uuids=[uuid])
    for _ in range(2):
        manager.remove_host(context, host="h1")
    assert manager.list_hosts(context) == []


def test_a_removed_host_gets_nothing_from_any_scheduler(say, place, manager, context, make_manager):
    other = make_manager()
    say("h1")
    say("h2")
    other.select_destinations(
        context, request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=0
    )
    manager.release_claims(
        context, instance_uuids=[c["instance_uuid"] for c in manager.list_claims(context)]
    )
    manager.remove_host(context, host="h1")
    answers = other.select_destinations(
        context, request_spec=a_spec(), instance_uuids=[a_uuid() for _ in range(4)], alternates=0
    )
    assert {chosen.host for (chosen,) in answers} == {"h2"}
