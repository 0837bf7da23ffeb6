"""Claims of one scheduler after another, on SQLite."""

import pytest

from roost import exception
from roost.db.scheduler import claims as claim_rows
from roost.objects import Retry, TriedHost
from roost.scheduler.claim_requests import Select
from tests.builders import CELL1, NOW, a_selection, a_spec, a_uuid, taken


@pytest.fixture
def select(manager, context):
    def select(*instances, spec=None, alternates=0, by=manager):
        return by.select_destinations(
            context,
            request_spec=spec or a_spec(),
            instance_uuids=list(instances),
            alternates=alternates,
        )

    return select


@pytest.fixture
def claims(manager, context):
    """Which host each instance holds, by the database."""
    return lambda: {claim["instance_uuid"]: claim["host"] for claim in manager.list_claims(context)}


@pytest.fixture
def used(manager, context):
    return lambda: {
        host.host: (
            host.amount("VCPU", "used"),
            host.amount("MEMORY_MB", "used"),
            host.amount("DISK_GB", "used"),
        )
        for host in manager.list_hosts(context)
    }


def tried(*hosts):
    return Retry(
        max_attempts=3, tried=[TriedHost(host=host, node=host, reason="broke") for host in hosts]
    )


def test_a_selection_is_claimed_and_its_alternates_are_not(report, select, claims):
    report("h1", "h2", "h3")
    instance = a_uuid()
    ((chosen, *alternates),) = select(instance, alternates=2)
    assert (chosen.claimed, chosen.cell_uuid, chosen.availability_zone) == (True, CELL1, "nova")
    assert [other.claimed for other in alternates] == [False, False]
    assert claims() == {instance: chosen.host}


def test_asking_again_gives_the_claim_that_is_there(report, select, claims, used):
    report("h1", "h2")
    instance, spec = a_uuid(), a_spec()
    first = select(instance, spec=spec, alternates=1)
    before = used()
    assert select(instance, spec=spec, alternates=1) == first
    assert used() == before


def test_asking_for_one_more_places_only_that_one(report, select, claims):
    report("h1", "h2")
    old, new = a_uuid(), a_uuid()
    ((kept,),) = select(old)
    ((again,), (fresh,)) = select(old, new)
    assert again == kept
    assert claims() == {old: kept.host, new: fresh.host}


def test_a_request_that_nobody_can_read_hurts_only_whoever_sent_it(report, select, claims):
    report("h1")
    instance = a_uuid()
    with pytest.raises(AttributeError):
        select(a_uuid(), spec={"no": "object"})
    select(instance)
    assert claims() == {instance: "h1"}


def test_a_request_that_the_database_does_not_take_hurts_only_whoever_sent_it(
    manager, report, claims
):
    report("h1")
    good, bad = a_uuid(), a_uuid()
    orders = [
        Select([good], spec=a_spec(), alternates=0),
        Select([bad], spec=a_spec(project_id="\ud800"), alternates=0),
        Select([a_uuid()], spec=a_spec(), alternates=0),
    ]
    assert manager.batches.carry_out(orders) == []
    assert [order.error is None for order in orders] == [True, False, True]
    assert claims().keys() == {orders[0].instance_uuids[0], orders[2].instance_uuids[0]}


@pytest.mark.parametrize("unwanted", [{"ignore_hosts": ["h1"]}, {"retry": tried("h1")}])
def test_a_claim_on_a_host_to_be_left_is_replaced(report, select, claims, used, unwanted):
    report("h1")
    instance = a_uuid()
    select(instance)
    report("h2")
    ((chosen,),) = select(instance, spec=a_spec(**unwanted))
    assert chosen.host == "h2"
    assert claims() == {instance: "h2"}
    assert used() == {"h1": (0, 0, 0), "h2": (1, 512, 1)}


def test_a_claim_that_cannot_be_replaced_stays(report, select, claims):
    report("h1")
    instance = a_uuid()
    select(instance)
    with pytest.raises(exception.NoValidHost):
        select(instance, spec=a_spec(ignore_hosts=["h1"]))
    assert claims() == {instance: "h1"}


def test_nobody_is_placed_when_not_all_can_be(report, select, claims, used):
    report("h1", vcpus=2)
    with pytest.raises(exception.NoValidHost, match="room for 2 of 3") as caught:
        select(a_uuid(), a_uuid(), a_uuid())
    assert caught.value.details["refusals"] == {"cpu": {"not enough CPUs": 1}}
    assert (claims(), used()) == ({}, {"h1": (0, 0, 0)})


def test_before_refusing_the_scheduler_looks_again(
    report, select, make_manager, manager, context, claims
):
    other = make_manager()
    report("h1", vcpus=1)
    instance = a_uuid()
    select(instance)
    with pytest.raises(exception.NoValidHost):
        select(a_uuid(), by=other)
    manager.release_claims(context, instance_uuids=[instance])
    assert select(a_uuid(), by=other)[0][0].host == "h1"


def test_a_scheduler_that_remembers_too_little_use_decides_again(report, select, make_manager):
    report("h1", "h2", vcpus=1)
    other = make_manager()
    ((first,),) = select(a_uuid(), by=other)
    ((second,),) = select(a_uuid())
    with pytest.raises(exception.NoValidHost, match="2 hosts: not enough CPUs"):
        select(a_uuid(), by=other)
    assert {first.host, second.host} == {"h1", "h2"}


def test_a_host_closed_through_another_scheduler_gets_nothing(
    report, select, make_manager, manager, context
):
    other = make_manager()
    report("h1", "h2")
    select(a_uuid(), by=other)
    manager.set_host_enabled(context, host="h1", enabled=False, version=1)
    chosen = select(*(a_uuid() for _ in range(4)), by=other)
    assert {selections[0].host for selections in chosen} == {"h2"}


def test_who_did_not_see_a_rivals_claim_for_the_same_instance_ends_up_with_it(
    report, select, make_manager, monkeypatch, used
):
    report("h1", "h2")
    instance = a_uuid()
    rivals = select(instance, by=make_manager())
    find, views = claim_rows.find, [{}]
    monkeypatch.setattr(
        claim_rows, "find", lambda *args, **kwargs: views.pop() if views else find(*args, **kwargs)
    )
    assert select(instance) == rivals
    assert sum(vcpus for vcpus, _, _ in used().values()) == 1


def test_a_scheduler_that_loses_every_race_says_so(report, select, monkeypatch, used):
    report("h1", "h2")
    instance = a_uuid()
    select(instance)
    monkeypatch.setattr(claim_rows, "find", lambda *_args, **_kwargs: {})
    with pytest.raises(exception.Unavailable, match="25 races"):
        select(instance)
    assert sum(vcpus for vcpus, _, _ in used().values()) == 1


def test_a_claim_moves_in_one_step(manager, context, report, select, claims, used):
    report("h1")
    instance, spec = a_uuid(), a_spec()
    select(instance, spec=spec)
    report("h2")
    to = a_selection("h2")
    moved = manager.move_claim(
        context, instance_uuid=instance, request_spec=spec, to=to, leaving="h1"
    )
    assert (moved.host, moved.claimed) == ("h2", True)
    assert claims() == {instance: "h2"}
    assert used() == {"h1": (0, 0, 0), "h2": (1, 512, 1)}


@pytest.mark.parametrize("trouble", [{"vcpus": 0}, {"enabled": False}])
def test_a_claim_stays_when_its_new_host_cannot_take_it(
    manager, context, report, select, claims, used, trouble
):
    report("h1")
    instance, spec = a_uuid(), a_spec()
    select(instance, spec=spec)
    report("h2", **trouble)
    with pytest.raises(exception.NoCapacity, match="h2"):
        manager.move_claim(
            context, instance_uuid=instance, request_spec=spec, to=a_selection("h2"), leaving="h1"
        )
    assert claims() == {instance: "h1"}
    assert used() == {"h1": (1, 512, 1), "h2": (0, 0, 0)}


def test_a_claim_does_not_move_to_a_host_that_nobody_knows(manager, context):
    with pytest.raises(exception.NoCapacity):
        manager.move_claim(
            context, instance_uuid=a_uuid(), request_spec=a_spec(), to=a_selection("h9")
        )


def test_released_claims_give_back_what_they_took(manager, context, report, select, claims, used):
    report("h1", "h2")
    instances = [a_uuid() for _ in range(5)]
    select(*instances)
    for _ in range(2):  # the second time there is nothing left to do
        manager.release_claims(context, instance_uuids=instances[:3])
    assert set(claims()) == set(instances[3:])
    assert sum(vcpus for vcpus, _, _ in used().values()) == 2


def test_releasing_on_one_host_leaves_claims_elsewhere(manager, context, report, select, claims):
    report("h1")
    instance = a_uuid()
    select(instance)
    manager.release_claims(context, instance_uuids=[instance], host="h2")
    assert claims() == {instance: "h1"}
    manager.release_claims(context, instance_uuids=[instance], host="h1")
    assert claims() == {}


def test_claims_come_in_pages_in_order(manager, context, report, select):
    report("h1")
    instances = sorted(a_uuid() for _ in range(5))
    select(*instances)
    first = manager.list_claims(context, limit=3)
    rest = manager.list_claims(context, marker=first[-1]["instance_uuid"], limit=3)
    assert [claim["instance_uuid"] for claim in first + rest] == instances
    assert first[0] == {
        "instance_uuid": instances[0],
        "host": "h1",
        "node": "h1",
        "cell_uuid": CELL1,
        "project_id": "project",
        "group_uuid": None,
        "state": "reserved",
        "created_at": NOW.isoformat(),
        "age": 0.0,
        "allocations": taken(vcpus=1, memory_mb=512, disk_gb=1),
    }
    assert manager.list_claims(context, host="h2") == []
    assert len(manager.list_claims(context, project_id="project")) == len(instances)
    assert manager.list_claims(context, project_id="another") == []
