"""Resource classes and traits that aggregates add to their hosts."""

import pytest

from roost import exception
from roost.objects.aggregate_resources import complaint
from roost.scheduler.aggregate_resources import AddedResources
from tests.builders import a_report, a_spec, a_uuid, an_aggregate, an_inventory

LICENSE = "CUSTOM_LICENSE"
KEY = f"resources:{LICENSE}"


@pytest.fixture
def report(report, clock):
    """Have hosts report themselves, each time a second later."""

    def later(*hosts, **values):
        clock.pass_(1)
        report(*hosts, reported_at=clock.now, **values)

    return later


@pytest.fixture
def join(manager, context):
    """Have an aggregate of hosts with this metadata, in the version that is next."""
    uuids, versions = {}, iter(range(1, 100))

    def join(name, *hosts, **values):
        aggregate = an_aggregate(
            uuid=uuids.setdefault(name, a_uuid()), hosts=hosts, version=next(versions), **values
        )
        manager.update_aggregates(context, aggregates=[aggregate])

    return join


@pytest.fixture
def shown(manager, context):
    """Return what a host has: the numbers of licences, and its traits."""

    def shown(host):
        (report,) = manager.list_hosts(context, host=host)
        numbers = {one.resource_class: (one.total, one.used) for one in report.inventories}
        return numbers.get(LICENSE), set(report.traits)

    return shown


def claim(manager, context, count=1, **values):
    uuid = a_uuid()
    spec = a_spec(resources={LICENSE: count}, **values)
    ((chosen,),) = manager.select_destinations(
        context, request_spec=spec, instance_uuids=[uuid], alternates=0
    )
    return uuid, chosen.host


def test_each_host_of_the_aggregate_has_it_from_its_next_report(manager, context, join, report):
    report("h1", "h2", "h3")
    join("rack", "h1", "h2", metadata={KEY: "2", "traits": "CUSTOM_RACK, STORAGE_DISK_SSD"})
    report("h1", "h2", "h3")
    traits = ["CUSTOM_RACK", "STORAGE_DISK_SSD"]
    chosen = [claim(manager, context, required_traits=traits)[1] for _ in range(4)]
    assert sorted(chosen) == ["h1", "h1", "h2", "h2"]
    with pytest.raises(exception.NoValidHost, match=f"2 hosts: not enough {LICENSE}"):
        claim(manager, context)


def test_another_scheduler_adds_it_too(make_manager, manager, context, join, report, shown):
    join("rack", "h1", metadata={KEY: "2"})
    report("h1")
    other = make_manager()
    (host,) = manager.list_hosts(context)
    other.update_resource_stats(context, report=host)
    assert shown("h1") == ((2, 0), set())


def test_of_several_amounts_the_smallest_counts(join, report, shown):
    own = {"inventories": [an_inventory("CUSTOM_OTHER", 1)], "traits": ["CUSTOM_OWN"]}
    join("a", "h1", metadata={KEY: "5", "traits": "CUSTOM_A,CUSTOM_OWN"})
    join("b", "h1", metadata={KEY: "3", "traits": "CUSTOM_B"})
    report("h1", **own)
    assert shown("h1") == ((3, 0), {"CUSTOM_OWN", "CUSTOM_A", "CUSTOM_B"})
    join("b")
    report("h1", **own)
    assert shown("h1") == ((5, 0), {"CUSTOM_OWN", "CUSTOM_A"})


@pytest.mark.parametrize("amount", ["1", "9"])
def test_what_a_host_reports_of_a_class_itself_counts_instead(join, report, shown, amount):
    join("a", "h1", metadata={KEY: amount})
    report("h1", inventories=[an_inventory(LICENSE, 5)])
    assert shown("h1") == ((5, 0), set())


def test_less_than_is_used_is_overcommitted_and_nobody_loses_it(
    manager, context, join, report, shown
):
    join("rack", "h1", metadata={KEY: "4"})
    report("h1")
    uuid, _ = claim(manager, context, 3)
    for metadata in ({KEY: "2"}, {KEY: "0"}, {}):
        join("rack", "h1", metadata=metadata)
        report("h1", instances=[uuid])
        (held,) = manager.list_claims(context, instance_uuids=[uuid])
        assert held["allocations"][""][LICENSE] == 3
        total = metadata.get(KEY)
        assert shown("h1")[0] == (total and (int(total), 3))
        with pytest.raises(exception.NoValidHost, match=LICENSE):
            claim(manager, context)


def test_wrong_metadata_that_was_there_before_adds_nothing(join, report, shown):
    join("rack", "h1", metadata={KEY: "many", "traits": "fast", "trait:CUSTOM_A": "required"})
    report("h1")
    assert shown("h1") == (None, set())


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (KEY, "-1", "'-1' is not a number from 0 to 999999999"),
        (KEY, "1.5", "'1.5' is not a number from 0 to 999999999"),
        ("resources:LICENSE", "1", "'LICENSE' is no resource class"),
        ("resources:", "1", "'' is no resource class"),
        ("resources:VCPU", "4", "the host itself counts its VCPU"),
        ("traits", "CUSTOM_A,fast", "'fast' is no trait"),
    ],
)
def test_what_is_wrong_with_metadata_is_said_with_its_key(key, value, reason):
    assert complaint(key, value).startswith(f"{key}: {reason}")


@pytest.mark.parametrize(
    ("key", "value"),
    [(KEY, "0"), ("resources:VGPU", "4"), ("traits", ""), ("trait:fast", "x"), ("any", "thing")],
)
def test_all_else_is_right(key, value):
    assert complaint(key, value) is None


def test_what_another_scheduler_was_told_is_noticed_within_a_second(manager, database, join):
    now = [0.0]
    added = AddedResources(clock=lambda: now[0])

    def numbers():
        with database.read() as session:
            found = added.added_to(session, a_report("h1")).inventories
        return [one.total for one in found if one.resource_class.startswith("CUSTOM_")]

    assert numbers() == []
    join("rack", "h1", metadata={KEY: "2"})
    assert numbers() == []
    now[0] = 1.0
    assert numbers() == [2]
