"""What hosts say of themselves."""

import concurrent.futures
import datetime

import pytest
import sqlalchemy as sa

from roost.db.scheduler import models
from roost.rpc import interface
from roost.rpc.scheduler import Scheduler
from tests.builders import NOW, a_report, a_spec, a_uuid

SECOND = datetime.timedelta(seconds=1)


def listed(manager, context, **paging):
    return [(host.host, host.node) for host in manager.list_hosts(context, **paging)]


def test_the_manager_is_what_the_interface_declares(manager):
    assert interface.endpoint(Scheduler, manager)


def test_the_first_report_creates_the_host(manager, context, report):
    report("h1", traits=["HW_X"], hypervisor_version=7)
    (host,) = manager.list_hosts(context)
    assert (host.host, host.node, host.up, host.enabled) == ("h1", "h1", True, True)
    assert (host.traits, host.hypervisor_version, host.instances) == (["HW_X"], 7, [])


def test_an_older_report_is_dropped(manager, context, clock, report):
    report("h1", vcpus=8)
    clock.pass_(2)
    report("h1", vcpus=4, reported_at=NOW + SECOND)
    assert manager.list_hosts(context)[0].amount("VCPU") == 4


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_wrong_clock_neither_silences_a_host_nor_keeps_it_up(
    manager, context, clock, report, hours
):
    wrong = datetime.timedelta(hours=hours)
    report("h1", reported_at=NOW + wrong)
    clock.pass_(120)
    assert manager.list_hosts(context)[0].up
    clock.pass_(1)
    assert not manager.list_hosts(context)[0].up
    report("h1", reported_at=clock.now + wrong)
    assert manager.list_hosts(context)[0].up


def test_two_first_reports_at_once_create_the_host_once(make_manager, context):
    managers = [make_manager() for _ in range(4)]

    def report(numbered):
        number, manager = numbered
        late = NOW - SECOND * number
        manager.update_resource_stats(context, report=a_report("h1", reported_at=late))

    with concurrent.futures.ThreadPoolExecutor() as threads:
        list(threads.map(report, enumerate(managers)))
    (host,) = managers[0].list_hosts(context)
    assert host.reported_at == NOW


def test_a_report_confirms_the_claims_it_lists(manager, context, clock, report):
    report("h1")
    known, unknown = sorted([a_uuid(), a_uuid()])
    manager.select_destinations(
        context, request_spec=a_spec(), instance_uuids=[known, unknown], alternates=0
    )
    clock.pass_(1)
    report("h1", reported_at=clock.now, instances=[known, a_uuid()])
    states = {each["instance_uuid"]: each["state"] for each in manager.list_claims(context)}
    assert states == {known: "confirmed", unknown: "reserved"}


def test_reports_do_not_change_what_is_claimed(manager, context, clock, report):
    report("h1")
    manager.select_destinations(
        context, request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=0
    )
    clock.pass_(1)
    report("h1", reported_at=clock.now, vcpus_used=0)
    assert manager.list_hosts(context)[0].amount("VCPU", "used") == 1


def test_hosts_come_in_pages_in_order(manager, context, report):
    report("h3", "h1", "h2")
    first = listed(manager, context, limit=2)
    assert first == [("h1", "h1"), ("h2", "h2")]
    assert listed(manager, context, marker="h2", limit=2) == [("h3", "h3")]
    assert listed(manager, context, marker="h3", limit=2) == []


def test_a_page_does_not_end_between_the_nodes_of_a_host(manager, context, report):
    for node in ("a", "b", "c"):
        report("h1", node=node)
    report("h2")
    assert listed(manager, context, limit=2) == [("h1", "a"), ("h1", "b"), ("h1", "c")]
    assert listed(manager, context, marker="h1", limit=2) == [("h2", "h2")]


def test_a_node_is_found_by_its_uuid_and_name(manager, context, report):
    for host, node in (("a", "1"), ("a", "2"), ("b", "1")):
        report(host, node=node)
    (known,) = manager.list_hosts(context, node_uuid=a_report("a", node="2").node_uuid)
    assert (known.host, known.node) == ("a", "2")
    assert manager.list_hosts(context, node_uuid=a_uuid()) == []
    assert listed(manager, context, node="2") == [(known.host, known.node)]


def test_the_generation_of_a_host_grows_with_its_description_and_claims(
    manager, context, clock, report
):
    def generation():
        return manager.list_hosts(context, host="h1")[0].generation

    report("h1")
    first = generation()
    clock.pass_(1)
    report("h1", reported_at=clock.now)
    assert generation() == first
    manager.select_destinations(
        context, request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=0
    )
    claimed = generation()
    assert claimed > first
    clock.pass_(1)
    report("h1", reported_at=clock.now, traits=["HW_X"])
    assert generation() > claimed


def test_what_operators_ask_of_a_host_is_kept(manager, context, clock, report):
    stale = {"mdev": NOW.isoformat()}
    report("h1", cpu_info='{"arch": "x86_64"}', booted_at=NOW - SECOND, stale_collectors=stale)
    (known,) = manager.list_hosts(context)
    assert (known.cpu_info, known.booted_at) == ('{"arch": "x86_64"}', NOW - SECOND)
    assert known.stale_collectors == stale
    clock.pass_(1)
    report("h1", reported_at=NOW + SECOND)
    (known,) = manager.list_hosts(context)
    assert (known.cpu_info, known.booted_at) == ("{}", None)


def test_how_busy_a_host_is_is_no_news_to_who_places_instances(manager, context, clock, report):
    def known():
        with manager._database.read() as session:
            columns = models.hosts.c
            return session.execute(sa.select(columns.generation, columns.described)).one()

    report("h1", load_average=[0.5, 0.25, 0.125], users=3)
    before = known()
    clock.pass_(1)
    report("h1", reported_at=NOW + SECOND, load_average=[1, 2, 3], users=0)
    assert known() == before
    (host,) = manager.list_hosts(context)
    assert (host.load_average, host.users) == ([1, 2, 3], 0)


def test_closing_a_host_closes_all_its_nodes(manager, context, report):
    report("h1", node="a")
    report("h1", node="b")
    report("h2")
    manager.set_host_enabled(context, host="h1", enabled=False, version=1)
    assert [host.enabled for host in manager.list_hosts(context)] == [False, False, True]
    manager.set_host_enabled(context, host="h1", enabled=True, version=2)
    assert all(host.enabled for host in manager.list_hosts(context))


def test_a_report_of_a_host_that_has_not_heard_the_last_word_does_not_undo_it(
    manager, context, clock, report
):
    report("h1", enabled=True, enabled_version=1)
    clock.pass_(10)
    manager.set_host_enabled(context, host="h1", enabled=False, version=2)
    report("h1", enabled=True, enabled_version=1, reported_at=NOW + 1 * SECOND)
    assert not manager.list_hosts(context)[0].enabled
    report("h1", enabled=False, enabled_version=2, reported_at=NOW + 2 * SECOND)
    report("h1", enabled=True, enabled_version=3, reported_at=NOW + 3 * SECOND)
    assert manager.list_hosts(context)[0].enabled


def test_a_late_word_on_a_host_does_not_undo_a_newer_one(manager, context, report):
    report("h1")
    manager.set_host_enabled(context, host="h1", enabled=False, version=2)
    manager.set_host_enabled(context, host="h1", enabled=True, version=1)
    assert not manager.list_hosts(context)[0].enabled
