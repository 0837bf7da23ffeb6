"""What is no server is placed by the same schedulers: a request has resources, and no flavor."""

import pytest

from roost import exception
from roost.objects import (
    Locality,
    RequestGroup,
    ResourceInventory,
    ResourceProvider,
    ResourceRequest,
)
from roost.rpc.scheduler import RESERVATION_LIFETIME
from roost.scheduler.client import provider_report
from tests.builders import CELL2, NOW, a_flavor, a_group, a_spec, a_uuid

SPACE = "CUSTOM_VOLUME_GB"


def inventory(resource_class, total, **values):
    return ResourceInventory.of(
        **{"resource_class": resource_class, "total": total, "max_unit": total} | values
    )


def a_request(**values):
    return ResourceRequest.of(**{"request_uuid": a_uuid(), "project_id": "project"} | values)


@pytest.fixture
def pool(manager, context):
    """Have a pool report itself, with these inventories by class, and what is on it."""

    def pool(name, *, at=NOW, consumers=None, **values):
        inventories = values.pop("inventories", None) or [inventory(SPACE, 10)]
        report = provider_report(
            name,
            cell_uuid=CELL2,
            inventories=inventories,
            consumers=consumers or {},
            reported_at=at,
            **values,
        )
        manager.update_resource_stats(context, report=report)

    return pool


@pytest.fixture
def select(manager, context):
    """Have consumers placed; return their hosts."""

    def select(*uuids, by=manager, request=None, **values):
        request = request or a_request(**values)
        selections = by.select_destinations(
            context,
            request_spec=request,
            instance_uuids=list(uuids) or [a_uuid()],
            alternates=0,
        )
        return [chosen.host for chosen, *_ in selections]

    return select


def test_a_request_without_a_flavor_comes_to_a_host_with_enough(select, pool):
    pool("small", inventories=[inventory(SPACE, 4)])
    pool("large", inventories=[inventory(SPACE, 10)])
    assert select(a_uuid(), a_uuid(), resources={SPACE: 5}) == ["large", "large"]
    message = f"1 host: 5 {SPACE} at once are not allowed; 1: not enough {SPACE}"
    with pytest.raises(exception.NoValidHost, match=message):
        select(resources={SPACE: 5})


def test_several_schedulers_count_alike(select, pool, make_manager):
    pool("p1", inventories=[inventory(SPACE, 4)])
    schedulers = [make_manager(), make_manager()]
    assert [select(by=each, resources={SPACE: 2}) for each in schedulers] == [["p1"], ["p1"]]
    for each in schedulers:
        with pytest.raises(exception.NoValidHost, match=f"not enough {SPACE}"):
            select(by=each, resources={SPACE: 1})


def test_standard_classes_are_those_of_servers(select, report):
    report("h1", vcpus=4, memory_mb=64, disk_gb=10)
    spec = a_spec(flavor=a_flavor(vcpus=1, memory_mb=32, root_gb=4))
    assert select(request=spec) == ["h1"]
    assert select(resources={"VCPU": 3, "MEMORY_MB": 32, "DISK_GB": 6}) == ["h1"]
    with pytest.raises(exception.NoValidHost, match="not enough CPUs"):
        select(resources={"VCPU": 1})


def test_servers_never_come_to_pools_nor_volumes_to_hosts_of_servers(select, pool, report):
    """Every flavor has a CPU, which no pool has; a pool's own class decides for the volumes."""
    report("h1", vcpus=1, disk_gb=1000)
    pool("p1", inventories=[inventory("DISK_GB", 1000), inventory(SPACE, 1000)])
    server = a_spec(flavor=a_flavor(vcpus=1, memory_mb=0, root_gb=0), image=None)
    assert select(request=server) == ["h1"]
    with pytest.raises(exception.NoValidHost, match="not enough CPUs"):
        select(request=server)
    assert select(*[a_uuid() for _ in range(5)], resources={SPACE: 1}) == ["p1"] * 5


def test_by_their_cell_pools_can_share_even_the_classes_of_servers(select, pool, report):
    report("h1", disk_gb=1000)
    pool("p1", inventories=[inventory("DISK_GB", 10)])
    assert select(resources={"DISK_GB": 10}, requested_cell=CELL2) == ["p1"]
    with pytest.raises(exception.NoValidHost, match="; 1: not enough disk"):
        select(resources={"DISK_GB": 10}, requested_cell=CELL2)


def test_traits_are_required_and_forbidden(select, pool):
    pool("disks")
    pool("flash", traits=["STORAGE_DISK_SSD"])
    assert select(resources={SPACE: 1}, required_traits=["STORAGE_DISK_SSD"]) == ["flash"]
    assert select(resources={SPACE: 1}, forbidden_traits=["STORAGE_DISK_SSD"]) == ["disks"]
    with pytest.raises(exception.NoValidHost, match="lacks the trait CUSTOM_ENCRYPTED"):
        select(resources={SPACE: 1}, required_traits=["CUSTOM_ENCRYPTED"])


def test_a_flavor_and_a_request_add_up(select, report):
    report("h1", vcpus=2, inventories=[inventory("CUSTOM_A", 3)], traits=["CUSTOM_T"])
    flavor = a_flavor(vcpus=1, extra_specs={"resources:CUSTOM_A": "1"})
    more = {"resources": {"CUSTOM_A": 2, "VCPU": 1}, "required_traits": ["CUSTOM_T"]}
    assert select(request=a_spec(flavor=flavor, **more)) == ["h1"]
    with pytest.raises(exception.NoValidHost, match="not enough CPUs"):
        select(request=a_spec(flavor=flavor))


def test_groups_and_nearness_count(select, pool):
    pool("p1", labels=["rack-1"])
    pool("p2", labels=["rack-2"])
    apart = a_group(policy="anti-affinity")
    assert sorted(select(a_uuid(), a_uuid(), resources={SPACE: 1}, group=apart)) == ["p1", "p2"]
    near = [Locality.of(label="rack-2", hard=True)]
    assert select(resources={SPACE: 1}, locality=near) == ["p2"]


def test_a_negative_amount_is_refused(select, pool):
    pool("p1")
    with pytest.raises(exception.Invalid, match=SPACE):
        select(resources={SPACE: -1})


def test_a_pool_confirms_what_it_has_and_frees_what_is_gone(select, pool, manager, context, clock):
    pool("p1")
    volume = a_uuid()
    select(volume, resources={SPACE: 7})
    clock.pass_(RESERVATION_LIFETIME - 1)
    pool("p1", at=clock(), consumers={volume: {SPACE: 7}})
    clock.pass_(RESERVATION_LIFETIME)
    assert manager.expire_claims() == 0
    (claim,) = manager.list_claims(context)
    assert (claim["host"], claim["state"], claim["allocations"]) == (
        *("p1", "confirmed", {"": {SPACE: 7}}),
    )
    pool("p1", at=clock())
    assert manager.list_claims(context) == []


def test_what_a_pool_has_without_a_claim_gets_one(pool, manager, context, clock):
    """A restored database of the schedulers fills itself again."""
    volume = a_uuid()
    for _ in range(2):
        clock.pass_(1)
        pool(
            "p1",
            at=clock(),
            inventories=[inventory(SPACE, 10), inventory("DISK_GB", 10)],
            consumers={volume: {SPACE: 7, "DISK_GB": 2}},
        )
    (claim,) = manager.list_claims(context)
    assert claim["instance_uuid"] == volume
    assert claim["allocations"] == {"": {SPACE: 7, "DISK_GB": 2}}


def test_reserve_and_ratio_of_a_standard_class_count(select, pool):
    pool("p1", inventories=[inventory("DISK_GB", 10, reserved=2, allocation_ratio=2.0)])
    assert select(resources={"DISK_GB": 8}) == select(resources={"DISK_GB": 8}) == ["p1"]
    with pytest.raises(exception.NoValidHost, match="not enough disk"):
        select(resources={"DISK_GB": 1})


def a_shelf(name, total, *traits):
    return ResourceProvider.of(name=name, traits=traits, inventories=[inventory(SPACE, total)])


def a_part(name, amount, **values):
    return RequestGroup.of(name=name, resources={SPACE: amount}, **values)


@pytest.fixture
def given(manager, context, select):
    """Have a consumer of these groups placed; return what it has of each part of its host."""

    def given(*groups, **values):
        uuid = a_uuid()
        select(uuid, resource_groups=list(groups), **values)
        (claim,) = manager.list_claims(context, instance_uuids=[uuid])
        return claim["allocations"]

    return given


def test_a_group_comes_from_one_part_of_a_host(pool, given):
    shelves = [a_shelf("s1", 6), a_shelf("s2", 6, "STORAGE_DISK_SSD")]
    pool("p1", inventories=[inventory("CUSTOM_IOPS", 100)], providers=shelves)
    with pytest.raises(exception.NoValidHost, match=f"7 {SPACE} at once are not allowed"):
        given(a_part("1", 7))
    ssd = a_part("fast", 4, required_traits=["STORAGE_DISK_SSD"])
    assert given(ssd, resources={"CUSTOM_IOPS": 5}) == {"": {"CUSTOM_IOPS": 5}, "s2": {SPACE: 4}}
    slow = a_part("slow", 4, forbidden_traits=["STORAGE_DISK_SSD"])
    assert given(slow) == {"s1": {SPACE: 4}}
    with pytest.raises(exception.NoValidHost, match=f"not enough {SPACE}"):
        given(ssd)


def test_groups_come_from_one_part_or_from_different_ones_by_the_policy(pool, given):
    pool("p1", inventories=[inventory("CUSTOM_IOPS", 1)], providers=[a_shelf("s1", 6)])
    mirror = a_part("1", 2), a_part("2", 2)
    with pytest.raises(exception.NoValidHost, match="parts that go together"):
        given(*mirror, group_policy="isolate")
    assert given(*mirror) == {"s1": {SPACE: 4}}
    pool("p2", inventories=[inventory("CUSTOM_IOPS", 1)],
         providers=[a_shelf("s1", 2), a_shelf("s2", 2)])  # fmt: skip
    assert given(*mirror, group_policy="isolate") == {"s1": {SPACE: 2}, "s2": {SPACE: 2}}


def test_the_groups_of_a_flavor_and_of_a_request_add_up(select, report):
    shelves = [a_shelf("s1", 2), a_shelf("s2", 2)]
    report("h1", providers=shelves)
    flavor = a_flavor(vcpus=1, memory_mb=1, root_gb=0, extra_specs={f"resources1:{SPACE}": "2"})
    assert select(request=a_spec(flavor=flavor, resource_groups=[a_part("2", 2)])) == ["h1"]
    with pytest.raises(exception.NoValidHost, match=f"not enough {SPACE}"):
        select(request=a_spec(flavor=flavor))


@pytest.mark.parametrize(
    ("groups", "policy", "message"),
    [
        ([a_part("1", 0)], "none", "The group '1' must request some of each resource"),
        ([a_part("1", -1)], "none", "The group '1' must request some of each resource"),
        ([RequestGroup.of(name="1", resources={})], "none", "The group '1' must request some"),
        ([a_part("1", 1), a_part("1", 1)], "none", "a name of its own, not '1'"),
        ([a_part("", 1)], "none", "a name of its own, not ''"),
        (
            [RequestGroup.of(name="1", resources={"VCPU": 1, SPACE: 1})],
            "none",
            "The group '1' cannot request VCPU",
        ),
        ([a_part("1", 1)], "apart", "group_policy must be one of none, isolate, not 'apart'"),
    ],
)
def test_groups_that_are_not_clear_are_refused(select, pool, groups, policy, message):
    pool("p1")
    with pytest.raises(exception.Invalid, match=message):
        select(resource_groups=groups, group_policy=policy)


def test_what_a_consumer_has_of_a_part_is_restored_from_reports(manager, context, pool, clock):
    volume = a_uuid()
    for _ in range(2):
        clock.pass_(1)
        pool("p1", at=clock.now, inventories=[inventory("CUSTOM_IOPS", 9)],
             providers=[a_shelf("s1", 6)], consumers={volume: {"CUSTOM_IOPS": 1}},
             of_parts={volume: {"s1": {SPACE: 2}}})  # fmt: skip
    (claim,) = manager.list_claims(context)
    assert claim["allocations"] == {"": {"CUSTOM_IOPS": 1}, "s1": {SPACE: 2}}
