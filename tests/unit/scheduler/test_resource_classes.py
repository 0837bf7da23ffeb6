"""Resource classes: what hosts have of them is counted exactly, as CPUs are."""

import pytest

from roost import exception
from roost.objects import ResourceInventory
from roost.rpc.scheduler import RESERVATION_LIFETIME
from tests.builders import a_flavor, a_numa_cell, a_numa_topology, a_spec, a_uuid, an_inventory

LICENSE = "CUSTOM_LICENSE"
ONE = {f"resources:{LICENSE}": "1"}


def licenses(total, **values):
    return ResourceInventory.of(
        **{"resource_class": LICENSE, "total": total, "max_unit": total} | values
    )


@pytest.fixture
def select(manager, context):
    """Have an instance of a flavor with these extra specs placed; return its host."""

    def select(specs=ONE, *, by=manager, uuid=None, **spec):
        flavor = a_flavor(vcpus=1, memory_mb=64, root_gb=0, extra_specs=specs)
        ((chosen, *_),) = by.select_destinations(
            context,
            request_spec=a_spec(flavor=flavor, **spec),
            instance_uuids=[uuid or a_uuid()],
            alternates=0,
        )
        return chosen.host

    return select


def test_a_server_comes_to_a_host_with_enough_until_there_is_no_more(select, report):
    report("plain", "other")
    report("h1", inventories=[licenses(3)])
    assert [select(), select({f"resources:{LICENSE}": "2"})] == ["h1", "h1"]
    with pytest.raises(exception.NoValidHost, match=f"2 hosts: no {LICENSE}; 1: not enough"):
        select()
    assert select({}) in ("plain", "other", "h1")


def test_what_no_host_has_is_named(select, report):
    report("h1", inventories=[licenses(3)])
    with pytest.raises(exception.NoValidHost, match="no CUSTOM_FPGA"):
        select({"resources:CUSTOM_FPGA": "1"})


def test_reserve_ratio_and_units_count(select, report):
    shared = licenses(4, reserved=2, allocation_ratio=3.0, min_unit=2, max_unit=4, step_size=2)
    report("h1", inventories=[shared])
    for amount in ("1", "3", "5"):
        with pytest.raises(exception.NoValidHost, match=f"{amount} {LICENSE} at once"):
            select({f"resources:{LICENSE}": amount})
    assert [select({f"resources:{LICENSE}": "2"}) for _ in range(3)] == ["h1"] * 3
    with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
        select({f"resources:{LICENSE}": "2"})


def test_units_of_cpus_and_the_like_count_as_those_of_other_classes(select, report):
    """No server gets more CPUs than the host has, however much they are overcommitted."""
    report("h1", vcpus=2, vcpus_ratio=4.0)
    assert select({"resources:VCPU": "2"}) == "h1"
    with pytest.raises(exception.NoValidHost, match="3 VCPU at once are not allowed"):
        select({"resources:VCPU": "3"})
    with pytest.raises(exception.NoValidHost, match="1 host: not enough CPUs"):
        select({"resources:VCPU": "9"})
    coarse = an_inventory("MEMORY_MB", 4096, min_unit=1024, step_size=512)
    report("h2", memory_mb=0, inventories=[coarse])
    for memory, host in (("1024", "h2"), ("1536", "h2"), ("512", "h1"), ("1100", "h1")):
        chosen = select({"resources:MEMORY_MB": memory}, ignore_hosts=["h1"] * (host == "h2"))
        assert chosen == host


def test_standard_classes_are_counted_like_custom_ones(select, report):
    context = licenses(1, resource_class="MEM_ENCRYPTION_CONTEXT")
    report("h1", inventories=[context])
    encrypted = {"resources:MEM_ENCRYPTION_CONTEXT": "1"}
    assert select(encrypted) == "h1"
    with pytest.raises(exception.NoValidHost, match="not enough MEM_ENCRYPTION_CONTEXT"):
        select(encrypted)


def test_overrides_are_claimed_instead_of_the_sizes_of_the_flavor(select, report, manager, context):
    report("h1", vcpus=1, memory_mb=64)
    free = {"resources:VCPU": "0", "resources:MEMORY_MB": "0"}
    assert [select(free) for _ in range(3)] == ["h1"] * 3
    select({})
    has = [one["allocations"] for one in manager.list_claims(context)]
    assert {(one[""].get("VCPU"), one[""].get("MEMORY_MB")) for one in has} == {
        *((None, None), (1, 64)),
    }
    with pytest.raises(exception.NoValidHost, match="not enough memory"):
        select({"resources:VCPU": "0"})


def test_what_is_released_can_be_had_again(select, report, manager, context):
    report("h1", inventories=[licenses(1)])
    uuid = a_uuid()
    select(uuid=uuid)
    manager.release_claims(context, instance_uuids=[uuid])
    assert select() == "h1"


def test_another_scheduler_sees_what_is_used(select, report, make_manager):
    report("h1", inventories=[licenses(2)])
    other = make_manager()
    assert [select(), select(by=other)] == ["h1", "h1"]
    for one in (make_manager(), other):
        with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
            select(by=one)


def test_beside_dedicated_cpus(select, report):
    report("h1", pcpus=4, numa_cells=[a_numa_cell(0)], inventories=[licenses(1)])
    pinned = a_numa_topology({"pcpus": [0]}, cpu_policy="dedicated")
    assert select(numa_topology=pinned) == "h1"
    with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
        select(numa_topology=pinned)


def test_a_claim_that_is_restored_by_reports_has_them(select, report, clock):
    uuid = a_uuid()
    for _ in range(2):
        clock.pass_(RESERVATION_LIFETIME)
        report(
            "h1",
            inventories=[licenses(3)],
            instances=[uuid],
            holdings={uuid: {"": {"VCPU": 1, "MEMORY_MB": 64, LICENSE: 2}}},
            reported_at=clock.now,
        )
    assert select() == "h1"
    with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
        select()


def test_a_claim_that_an_operator_restores_has_them(select, report, manager, context):
    report("h1", inventories=[licenses(1)])
    uuid = a_uuid()
    holdings = {uuid: {"": {"VCPU": 1, "MEMORY_MB": 64, LICENSE: 1}}}
    manager.restore_claims(context, host="h1", node="h1", holdings=holdings)
    with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
        select()


def test_an_inventory_below_what_is_used_keeps_what_is_there(
    select, report, manager, context, clock
):
    report("h1", inventories=[licenses(2)])
    uuid = a_uuid()
    select({f"resources:{LICENSE}": "2"}, uuid=uuid)
    clock.pass_(1)
    report("h1", inventories=[licenses(1)], instances=[uuid], reported_at=clock.now)
    (host,) = manager.list_hosts(context)
    (shown,) = [one for one in host.inventories if one.resource_class == LICENSE]
    assert (shown.used, shown.total, shown.is_overcommitted) == (2, 1, True)
    assert [claim["host"] for claim in manager.list_claims(context)] == ["h1"]
    with pytest.raises(exception.NoValidHost, match=f"not enough {LICENSE}"):
        select()
    manager.release_claims(context, instance_uuids=[uuid])
    assert select() == "h1"
