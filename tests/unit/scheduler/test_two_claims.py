"""An instance that moves holds two claims: on its host, and on the one that it moves to."""

import pytest

from roost import exception
from roost.db.scheduler import claims as claim_rows
from roost.rpc.scheduler import RESERVATION_LIFETIME
from tests.builders import (
    a_flavor,
    a_group,
    a_numa_cell,
    a_numa_topology,
    a_report,
    a_selection,
    a_spec,
    a_uuid,
    taken,
)

SMALL = a_flavor(vcpus=1, memory_mb=1024, root_gb=1)
BIG = a_flavor(vcpus=2, memory_mb=512, root_gb=1)


@pytest.fixture
def select(manager, context):
    def select(*instances, beside=None, by=manager, alternates=0, **spec):
        spec = a_spec(**{"flavor": SMALL, **spec})
        answers = by.select_destinations(
            context,
            request_spec=spec,
            instance_uuids=list(instances),
            alternates=alternates,
            beside=beside,
        )
        return answers[0]

    return select


@pytest.fixture
def move(manager, context):
    def move(instance, to, *, flavor=SMALL, **how):
        return manager.move_claim(
            context,
            instance_uuid=instance,
            request_spec=a_spec(flavor=flavor),
            to=a_selection(to),
            **how,
        )

    return move


@pytest.fixture
def held(manager, context):
    """Return the hosts of an instance's claims."""
    return lambda uuid: sorted(
        claim["host"] for claim in manager.list_claims(context, instance_uuids=[uuid])
    )


@pytest.fixture
def used(manager, context):
    return lambda: {
        host.host: (host.amount("VCPU", "used"), host.amount("MEMORY_MB", "used"))
        for host in manager.list_hosts(context)
    }


@pytest.fixture
def server(report, select):
    """An instance on h1, beside the empty hosts h2 and h3."""
    report("h1")
    uuid = a_uuid()
    select(uuid)
    report("h2", "h3")
    return uuid


@pytest.fixture
def moving(server, select, report):
    """The same one on its way to h2."""
    select(server, beside="h1", ignore_hosts=["h1", "h3"])
    return server


def test_the_claim_beside_leaves_the_first_one_as_it_is(server, select, held, used):
    (chosen,) = select(server, beside="h1", ignore_hosts=["h1", "h3"], flavor=BIG)
    assert (chosen.host, chosen.claimed) == ("h2", True)
    assert held(server) == ["h1", "h2"]
    assert used() == {"h1": (1, 1024), "h2": (2, 512), "h3": (0, 0)}


def test_the_same_request_again_gives_the_same_claim(server, select, held):
    first = select(server, beside="h1", ignore_hosts=["h1"], alternates=1)
    again = select(server, beside="h1", ignore_hosts=["h1"], alternates=1)
    assert [one.host for one in again] == [one.host for one in first]
    assert held(server) == sorted(["h1", first[0].host])


def test_nothing_moves_from_where_it_is_not(server, select, held):
    with pytest.raises(exception.Conflict, match="holds no claim on h2"):
        select(server, beside="h2", ignore_hosts=["h2"])
    with pytest.raises(exception.Invalid, match="Only one instance"):
        select(server, a_uuid(), beside="h1")
    assert held(server) == ["h1"]


def test_there_is_no_third_claim(moving, move, select, held):
    with pytest.raises(exception.Conflict, match="two claims already"):
        move(moving, "h3", leaving="h9")
    assert held(moving) == ["h1", "h2"]


def test_a_move_that_fits_nowhere_changes_nothing(server, select, held, used):
    before = used()
    with pytest.raises(exception.NoValidHost):
        select(server, beside="h1", flavor=a_flavor(vcpus=99))
    assert (held(server), used()) == (["h1"], before)


@pytest.mark.parametrize(("to", "left"), [("h2", "h1"), ("h1", "h2")])
def test_confirmed_or_reverted_it_has_one_claim_again(
    manager, context, moving, held, used, to, left
):
    for _ in range(2):
        manager.release_claims(context, instance_uuids=[moving], host=left)
        assert held(moving) == [to]
    assert (used()[to], used()[left]) == ((1, 1024), (0, 0))


@pytest.mark.parametrize("leaving", [None, "h2"])
def test_an_old_message_that_claimed_its_first_host_ends_no_claim_of_a_move(
    moving, move, held, leaving
):
    assert move(moving, "h1", leaving=leaving).claimed
    assert held(moving) == ["h1", "h2"]


def test_an_alternate_takes_the_place_of_the_host_that_refused(moving, move, held):
    move(moving, "h3", leaving="h2")
    assert held(moving) == ["h1", "h3"]


def test_it_may_move_again_and_back(manager, context, moving, select, held):
    manager.release_claims(context, instance_uuids=[moving], host="h1")
    select(moving, beside="h2", ignore_hosts=["h2", "h3"])
    assert held(moving) == ["h1", "h2"]


@pytest.mark.parametrize(
    ("flavor", "after"), [(BIG, (2, 512)), (SMALL, (1, 1024))], ids=["confirmed", "reverted"]
)
def test_on_its_own_host_its_claim_grows_to_the_larger_of_both(
    report, select, move, held, used, flavor, after
):
    report("h1", vcpus=2, memory_mb=1024)
    uuid = a_uuid()
    select(uuid)
    for _ in range(2):
        (chosen,) = select(uuid, beside="h1", flavor=BIG)
        assert (chosen.host, chosen.claimed) == ("h1", True)
        assert (held(uuid), used()) == (["h1"], {"h1": (2, 1024)})
    move(uuid, "h1", flavor=flavor)
    assert (held(uuid), used()) == (["h1"], {"h1": after})


def test_a_claim_grows_only_into_what_is_free_on_its_host(report, select, used):
    report("h1", vcpus=2)
    uuid = a_uuid()
    select(uuid)
    select(a_uuid())
    with pytest.raises(exception.NoValidHost, match="not enough CPUs"):
        select(uuid, beside="h1", flavor=BIG)
    assert used() == {"h1": (2, 2048)}


def test_another_scheduler_has_taken_what_a_claim_would_grow_into(
    report, select, make_manager, used
):
    other = make_manager()
    report("h1", vcpus=2)
    uuid = a_uuid()
    select(uuid)
    select(a_uuid(), by=other)
    with pytest.raises(exception.NoValidHost, match="not enough CPUs"):
        select(uuid, beside="h1", flavor=BIG)
    assert used() == {"h1": (2, 2048)}


def test_with_exact_cpus_it_moves_to_another_host_only(report, select):
    cells = {"numa_cells": [a_numa_cell(0, pcpus=[3, 4])], "pcpus": 2}
    report("h1", **cells)
    exact = a_numa_topology({"pcpus": [0]}, cpu_policy="dedicated")
    uuid = a_uuid()
    select(uuid, numa_topology=exact)
    with pytest.raises(exception.NoValidHost):
        select(uuid, beside="h1", numa_topology=exact)
    report("h2", **cells)
    (chosen,) = select(uuid, beside="h1", numa_topology=exact)
    assert (chosen.host, chosen.numa_topology.cells[0].pinning) == ("h2", [3])


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity"])
def test_its_own_claim_does_not_count_in_its_server_group(report, select, policy):
    group = a_group(policy=policy)
    report("h1")
    uuid = a_uuid()
    select(uuid, group=group)
    report("h2")
    assert select(uuid, beside="h1", ignore_hosts=["h1"], group=group)[0].host == "h2"


def test_other_members_of_its_group_see_both_claims(report, select):
    group = a_group(policy="anti-affinity")
    report("h1")
    uuid = a_uuid()
    select(uuid, group=group)
    report("h2")
    select(uuid, beside="h1", ignore_hosts=["h1"], group=group)
    with pytest.raises(exception.NoValidHost, match="2 hosts: a member of the server group"):
        select(a_uuid(), group=group)


def test_who_keeps_away_from_it_keeps_away_from_both_hosts(moving, select):
    (chosen,) = select(a_uuid(), hints={"different_host": [moving]})
    assert chosen.host == "h3"
    (chosen,) = select(a_uuid(), ignore_hosts=["h1"], hints={"same_host": [moving]})
    assert chosen.host == "h2"


def test_of_two_schedulers_that_move_it_at_once_one_claims(
    moving, select, make_manager, held, monkeypatch
):
    """The second one has read the claims before the first one wrote its own."""
    find, views = claim_rows.find, []

    def early(session, uuids):
        found = find(session, uuids)
        if not views:
            views.append({moving: [one for one in found[moving] if one.number == 0]})
            return views[0]
        return found

    monkeypatch.setattr(claim_rows, "find", early)
    (chosen,) = select(moving, beside="h1", ignore_hosts=["h1"], by=make_manager())
    assert (chosen.host, held(moving)) == ("h2", ["h1", "h2"])


def test_a_claim_that_was_released_after_it_was_read_is_not_left(
    moving, manager, context, select, move, held, monkeypatch
):
    find, views = claim_rows.find, []
    monkeypatch.setattr(claim_rows, "find", lambda *args: views.append(find(*args)) or views[-1])
    select(moving, beside="h1", ignore_hosts=["h1", "h3"])
    manager.release_claims(context, instance_uuids=[moving])
    early = views[:1]
    monkeypatch.setattr(claim_rows, "find", lambda *args: early.pop() if early else find(*args))
    assert move(moving, "h3", leaving="h2").claimed
    assert held(moving) == ["h3"]


@pytest.mark.parametrize(("silent", "left"), [("h1", "h2"), ("h2", "h1")])
def test_a_report_without_it_ends_the_claim_on_that_host_alone(
    manager, context, clock, moving, held, silent, left
):
    def say(host, *instances):
        clock.pass_(1)
        report = a_report(host, reported_at=clock.now, instances=list(instances))
        manager.update_resource_stats(context, report=report)

    say("h1", moving)
    say("h2", moving)
    say(silent)
    assert held(moving) == [left]


def test_an_operator_restores_the_claim_of_either_host(manager, context, moving, held):
    manager.release_claims(context, instance_uuids=[moving], host="h1")
    holdings = {moving: taken(vcpus=1, memory_mb=1024, disk_gb=1)}
    for host, restored in (("h1", [moving]), ("h1", []), ("h2", []), ("h3", [])):
        got = manager.restore_claims(context, host=host, node=host, holdings=holdings)
        assert got == restored
    assert held(moving) == ["h1", "h2"]


def test_the_claim_that_no_host_confirms_expires_alone(manager, context, clock, moving, held):
    clock.pass_(1)
    report = a_report("h1", reported_at=clock.now, instances=[moving])
    manager.update_resource_stats(context, report=report)
    clock.pass_(RESERVATION_LIFETIME)
    assert manager.expire_claims() == 1
    assert held(moving) == ["h1"]


def test_a_page_does_not_end_between_the_claims_of_an_instance(manager, context, moving):
    first = manager.list_claims(context, limit=1)
    assert [claim["host"] for claim in first] == ["h1", "h2"]
    assert manager.list_claims(context, marker=moving, limit=1) == []


def test_a_claim_that_an_earlier_request_left_elsewhere_gets_the_size_of_this_one(
    moving, select, held, used
):
    (chosen,) = select(moving, beside="h1", ignore_hosts=["h1", "h3"], flavor=BIG)
    assert (chosen.host, held(moving), used()["h2"]) == ("h2", ["h1", "h2"], (2, 512))


def test_it_is_not_kept_where_the_request_names_another_host(moving, select, held):
    (chosen,) = select(moving, beside="h1", ignore_hosts=["h1"], requested_host="h3")
    assert (chosen.host, held(moving)) == ("h3", ["h1", "h3"])


def test_what_has_grown_is_as_before_and_a_claim_elsewhere_stays(server, select, move, held, used):
    select(server, beside="h1", flavor=BIG, ignore_hosts=["h2", "h3"])
    select(server, beside="h1", ignore_hosts=["h1", "h3"])
    move(server, "h1")
    assert (held(server), used()["h1"]) == (["h1", "h2"], (1, 1024))


def test_the_claim_on_its_own_host_does_not_expire_once_it_moves(
    manager, context, clock, moving, held
):
    clock.pass_(1)
    report = a_report("h2", reported_at=clock.now, instances=[moving])
    manager.update_resource_stats(context, report=report)
    clock.pass_(RESERVATION_LIFETIME)
    assert manager.expire_claims() == 0
    assert held(moving) == ["h1", "h2"]


def test_a_report_that_was_sent_before_a_server_came_ends_no_claim_of_its_move(
    manager, context, clock, moving, move, held
):
    move(moving, "h2", arrived=True)
    for host in ("h1", "h2"):
        clock.pass_(1)
        report = a_report(host, reported_at=clock.now, instances=[])
        manager.update_resource_stats(context, report=report)
    assert held(moving) == ["h1", "h2"]


def test_a_late_release_of_a_build_that_was_not_placed_ends_no_claim_of_a_move(
    manager, context, moving, held
):
    manager.release_claims(context, instance_uuids=[moving], reserved=True)
    assert held(moving) == ["h1"]


def test_a_selection_has_the_address_that_its_host_reports(report, select):
    report("h1", host_ip="192.0.2.7")
    assert select(a_uuid())[0].host_ip == "192.0.2.7"


def test_the_claim_where_it_has_arrived_does_not_expire(manager, clock, moving, move, held):
    move(moving, "h2", arrived=True)
    clock.pass_(RESERVATION_LIFETIME)
    assert manager.expire_claims() == 0
    assert held(moving) == ["h1", "h2"]
