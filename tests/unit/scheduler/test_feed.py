"""The memory of a scheduler, fed with what another one has committed."""

import itertools
import random

import pytest

from roost import exception
from roost.db.scheduler import hosts as host_rows
from roost.objects import CellLiveness
from roost.objects.base import version_at
from roost.scheduler.changes import HostChanges
from tests.builders import CELL1, a_provider, a_report, a_spec, a_uuid, an_aggregate, an_inventory


@pytest.fixture
def published():
    """What the first scheduler has published, as messages."""
    return []


@pytest.fixture
def first(make_manager, published):
    def publish(changes):
        if changes:
            published.append(changes.to_message())

    return make_manager(publish=publish)


@pytest.fixture
def second(make_manager, report_to, context):
    """A scheduler that is fed, and knows two empty hosts."""
    made = make_manager(is_fed=lambda: True)
    report_to(made, "h1")
    report_to(made, "h2")
    see(made, context)
    return made


@pytest.fixture
def report_to(context):
    def report(manager, host, **values):
        manager.update_resource_stats(context, report=a_report(host, **values))

    return report


@pytest.fixture
def feed(second, published, first, context):
    """Give the second scheduler what was published, in this order."""

    def feed(messages=None):
        messages = list(published) if messages is None else messages
        for message in messages:
            second.hosts_changed(context, sender="first", **message)

    return feed


@pytest.fixture
def reads(monkeypatch):
    """The ids of the hosts that were read from the database."""
    asked = []

    def noting(read):
        def reading(session, ids, **how):
            asked.extend(ids)
            return read(session, ids, **how)

        return reading

    for name in ("read", "usages"):
        monkeypatch.setattr(host_rows, name, noting(getattr(host_rows, name)))
    return asked


def see(manager, context):
    """Have a scheduler look at the hosts."""
    with pytest.raises(exception.NoValidHost):
        claim(manager, context, on="nowhere")


def claim(manager, context, *, on):
    spec = a_spec(requested_host=on)
    manager.select_destinations(context, request_spec=spec, instance_uuids=[a_uuid()], alternates=0)


def used(manager):
    """Return the instances on each host, by its memory."""
    hosts = manager._table.hosts
    return {hosts.name("host", row): int(hosts.instances[row]) for row in range(len(hosts))}


def topology(manager, host):
    return manager._table.hosts.topology[manager._table.row_of(host, host)]


def up(manager):
    hosts = manager._table.hosts
    return {hosts.name("host", row): bool(is_up) for row, is_up in enumerate(hosts.up)}


def test_a_claim_of_one_is_in_the_memory_of_the_other_which_reads_nothing(
    first, second, feed, reads, context
):
    claim(first, context, on="h1")
    assert used(second) == {"h1": 0, "h2": 0}
    reads.clear()
    feed()
    assert used(second) == {"h1": 1, "h2": 0}
    assert reads == []


def test_doubled_and_reordered_messages_change_nothing(first, second, feed, published, context):
    for host in ("h1", "h2", "h1", "h1", "h2"):
        claim(first, context, on=host)
    for seed in range(20):
        messages = [*published, *published]
        random.Random(seed).shuffle(messages)
        feed(messages)
        assert used(second) == {"h1": 3, "h2": 2}


def test_a_message_that_lost_to_a_later_one_does_not_bring_the_past_back(
    first, second, feed, published, context
):
    claim(first, context, on="h1")
    claim(first, context, on="h1")
    feed(published[1:])
    assert used(second)["h1"] == 2
    feed(published[:1])
    assert used(second)["h1"] == 2


def test_ones_own_claims_and_those_of_others_add_up(first, second, feed, context):
    claim(first, context, on="h1")
    feed()
    claim(second, context, on="h1")
    feed()
    assert used(second)["h1"] == 2
    assert second.batches.counts["rechecked"] == 0


def test_a_lost_message_is_found_before_a_request_is_refused(first, second, context):
    for _ in range(8):
        claim(first, context, on="h1")
    with pytest.raises(exception.NoValidHost):
        claim(second, context, on="h1")
    assert used(second)["h1"] == 8


def test_a_host_that_describes_itself_anew_is_read_when_it_is_heard_of(
    first, second, feed, report_to, clock, context
):
    clock.pass_(60)
    report_to(first, "h1", vcpus=5, reported_at=clock())
    report_to(first, "h3", reported_at=clock())
    feed()
    assert used(second) == {"h1": 0, "h2": 0, "h3": 0}
    assert second._table.hosts.one(second._table.row_of("h1", "h1")).free("VCPU") == 5


def claim_two(manager, context):
    spec = a_spec(requested_host="h1")
    spec.flavor.extra_specs = {"resources:CUSTOM_A": "2"}
    manager.select_destinations(context, request_spec=spec, instance_uuids=[a_uuid()], alternates=0)


def test_custom_resources_of_a_claim_are_in_the_memory_of_the_other_which_reads_nothing(
    first, second, feed, published, report_to, clock, reads, context
):
    clock.pass_(60)
    report_to(first, "h1", inventories=[an_inventory("CUSTOM_A", 3)], reported_at=clock())
    feed()
    reads.clear()
    claim_two(first, context)
    reads.clear()
    feed(published[-1:])
    assert reads == []
    assert second._table.hosts.one(second._table.row_of("h1", "h1")).free("CUSTOM_A") == 1


def test_a_host_with_devices_or_parts_of_its_own_is_read_again(
    first, second, feed, report_to, clock, context
):
    clock.pass_(60)
    report_to(first, "h1", providers=[a_provider("p", CUSTOM_A=3)], reported_at=clock())
    feed()
    free = topology(second, "h1")
    claim_two(first, context)
    feed()
    assert topology(second, "h1") == topology(first, "h1") != free


def test_a_host_that_is_told_down_and_up_again_is_so_at_once(first, second, feed, clock, context):
    for down in (["h1"], []):
        clock.pass_(1)
        liveness = CellLiveness.of(
            cell_uuid=CELL1,
            version=version_at(clock()),
            whole=True,
            up=[host for host in ("h1", "h2") if host not in down],
            down=down,
        )
        first.update_liveness(context, liveness=liveness)
        feed()
        assert up(second) == {"h1": not down, "h2": True}


def test_a_host_that_reports_again_without_news_is_up(first, second, feed, report_to, clock, reads):
    clock.pass_(200)  # more than a host may be silent
    second._table.judge_liveness()
    assert up(second) == {"h1": False, "h2": False}
    report_to(first, "h1", reported_at=clock())
    reads.clear()
    feed()
    assert up(second) == {"h1": True, "h2": False}
    assert reads == []


def test_a_cell_that_reports_to_a_scheduler_is_heard_of_there_at_once(
    second, report_to, clock, context
):
    for silence in (1, 200):
        clock.pass_(silence)  # 200: more than a host or a cell may be silent
        second._table.judge_liveness()
        report_to(second, "h1", reported_at=clock())
        liveness = CellLiveness.of(
            cell_uuid=CELL1, version=version_at(clock()), whole=True, up=["h1"], down=[]
        )
        second.update_liveness(context, liveness=liveness)
        assert up(second)["h1"]


def test_a_host_that_was_disabled_gets_no_server(first, second, feed, clock, context):
    first.set_host_enabled(context, host="h1", enabled=False, version=version_at(clock()))
    feed()
    assert not second._table.hosts.one(second._table.row_of("h1", "h1")).enabled


def test_a_host_that_was_removed_is_gone_for_both(first, second, feed, context):
    see(first, context)
    first.remove_host(context, host="h1")
    feed()
    feed()
    assert (used(first), used(second)) == ({"h2": 0}, {"h2": 0})


def test_aggregates_that_changed_are_read_before_the_next_decision(first, second, feed, context):
    aggregate = an_aggregate(hosts=["h1"], metadata={"availability_zone": "east"})
    first.update_aggregates(context, aggregates=[aggregate])
    feed()
    claim(second, context, on="h2")
    hosts = second._table.hosts
    assert hosts.name("zone", second._table.row_of("h1", "h1")) == "east"


def test_who_has_not_looked_yet_reads_all_at_its_first_look(make_manager, first, second, published,
                                                            context):  # fmt: skip
    late = make_manager(is_fed=lambda: True)
    claim(first, context, on="h1")
    late.hosts_changed(context, sender="first", **published[0])
    assert used(late) == {}
    see(late, context)
    assert used(late) == {"h1": 1, "h2": 0}


def test_ones_own_messages_are_dropped(first, second, published, reads, context):
    claim(first, context, on="h1")
    reads.clear()
    first.hosts_changed(context, sender=first._peers.name, **{**published[0], "stale": [1]})
    assert reads == []


def test_a_database_that_is_away_costs_no_change(first, second, feed, monkeypatch, clock,
                                                 report_to, context):  # fmt: skip
    clock.pass_(60)
    report_to(first, "h1", vcpus=5, reported_at=clock())
    read = second._database.read
    monkeypatch.setattr(second._database, "read", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        feed()
    monkeypatch.setattr(second._database, "read", read)
    claim(second, context, on="h2")
    assert second._table.hosts.one(second._table.row_of("h1", "h1")).capacity("VCPU") == 5


def test_schedulers_that_feed_each_other_agree_with_the_rows(make_manager, report_to, context):
    """Of three each gets the messages of the others late, twice, in any order, or not at all."""
    random_ = random.Random(7)
    managers, waiting = [], []
    for _ in range(3):
        own = []
        managers.append(make_manager(is_fed=lambda: True, publish=own.append))
        waiting.append(own)
    for number in range(3):
        report_to(managers[0], f"h{number}", vcpus=90, memory_mb=2**20, disk_gb=2**20)
    for manager in managers:
        see(manager, context)
    for step in range(90):
        claim(managers[step % 3], context, on=f"h{random_.randrange(3)}")
        sender, receiver = random_.choice([*itertools.permutations(range(3), 2)])
        for changes in random_.choices(waiting[sender], k=2) if waiting[sender] else ():
            message = HostChanges.to_message(changes)
            managers[receiver].hosts_changed(context, sender="another", **message)
    for manager in managers:
        for changes in itertools.chain(*waiting):
            manager.hosts_changed(context, sender="another", **changes.to_message())
        assert sum(used(manager).values()) == 90
    claimed = [row["host"] for row in managers[0].list_claims(context)]
    assert used(managers[0]) == {host: claimed.count(host) for host in ("h0", "h1", "h2")}
    assert used(managers[1]) == used(managers[2]) == used(managers[0])
