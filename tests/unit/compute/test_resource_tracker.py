"""A host's own view of what it has and what is taken."""

import dataclasses
import threading

import pytest

from roost import conf, exception
from roost.compute.collectors import Collected, Collectors
from roost.compute.host_report import Amounts, HostSettings
from roost.objects import ResourceInventory
from tests.builders import CELL1, a_flavor, a_provider, an_image, an_instance
from tests.unit.compute.conftest import RESOURCES


class Answers:
    """A collector that gives these answers, and then the last of them again and again."""

    interval = 60.0

    def __init__(self, answers):
        self.answers = answers

    def collect(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def sized(**values):
    return an_instance(flavor=a_flavor(**values))


@pytest.fixture
def tracker(rig):
    rig.tracker.locate(cell_uuid=CELL1)
    rig.tracker.fill([])
    rig.reporter.changes = 0
    return rig.tracker


@pytest.mark.parametrize(
    ("too_big", "resource", "asked", "free"),
    [
        ({"vcpus": 9}, "vcpus", 9, 8),
        ({"memory_mb": 3073}, "memory_mb", 3073, 3072),
        ({"root_gb": 41}, "disk_gb", 41, 40),
    ],
)
def test_what_does_not_fit_is_refused_by_resource(tracker, too_big, resource, asked, free):
    with pytest.raises(exception.NoCapacity) as refused:
        tracker.claim(sized(**too_big))
    assert refused.value.details == {"resource": resource, "asked": asked, "free": free}
    assert tracker.claims == {}


def test_custom_resources_are_counted_by_the_files_of_the_operator(rig, tracker):
    license_ = ResourceInventory.of(resource_class="CUSTOM_LICENSE", total=2, max_unit=2)
    files = Answers([Collected((license_,), ("CUSTOM_LICENSED",))])
    tracker.collectors = Collectors({"files": files})
    tracker.ask_collectors(["files"])
    assert rig.reporter.changes == 1
    tracker.ask_collectors(["files"])
    assert rig.reporter.changes == 1
    two, third = sized(vcpus=1, root_gb=1), sized(vcpus=1, root_gb=1)
    two.allocations = third.allocations = {"": {"CUSTOM_LICENSE": 2}}
    tracker.claim(two)
    tracker.built(two.uuid)
    with pytest.raises(exception.NoCapacity, match="CUSTOM_LICENSE: 2 requested, 0 free"):
        tracker.claim(third)
    report = tracker.report()
    assert report.amount("CUSTOM_LICENSE") == 2
    assert "CUSTOM_LICENSED" in report.traits
    assert [held[""]["CUSTOM_LICENSE"] for held in report.holdings.values()] == [2]
    assert report.instance_resources == []


def test_the_last_unit_of_one_part_is_refused_though_others_have_room(tracker):
    gpus = [a_provider(name, VGPU=1) for name in ("gpu0", "gpu1")]
    tracker.collectors = Collectors({"gpus": Answers([Collected(providers=tuple(gpus))])})
    tracker.ask_collectors(["gpus"])
    first, second, third = (sized(vcpus=1, root_gb=1) for _ in range(3))
    first.allocations = second.allocations = {"gpu0": {"VGPU": 1}}
    third.allocations = {"gpu1": {"VGPU": 1}}
    tracker.claim(first)
    with pytest.raises(exception.NoCapacity, match="VGPU of gpu0: 1 requested, 0 free"):
        tracker.claim(second)
    tracker.claim(third)
    assert [one.name for one in tracker.report().providers] == ["gpu0", "gpu1"]


def test_overrides_are_claimed_instead_of_the_sizes_of_the_flavor(tracker):
    nothing = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    for _ in range(2):
        tracker.claim(sized(vcpus=8, memory_mb=3072, root_gb=40, extra_specs=nothing))
    assert tracker.report().amount("VCPU", "used") == 0


def test_an_instance_may_take_the_last_of_everything(tracker):
    tracker.claim(sized(vcpus=8, memory_mb=3072, root_gb=40))
    with pytest.raises(exception.NoCapacity):
        tracker.claim(sized(vcpus=1, memory_mb=0, root_gb=0))


def test_a_disk_that_only_the_image_sizes_is_claimed(tracker):
    instance = an_instance(flavor=a_flavor(root_gb=0), image=an_image(virtual_size=41 << 30))
    with pytest.raises(exception.NoCapacity, match="GiB of disk: 41 requested, 40 free"):
        tracker.claim(instance)
    instance.image.virtual_size = 40 << 30
    tracker.claim(instance)
    assert tracker.report().amount("DISK_GB", "used") == 40


def test_a_claim_made_twice_counts_once(tracker):
    instance = sized(memory_mb=2048)
    tracker.claim(instance)
    tracker.claim(instance)
    assert tracker.report().amount("MEMORY_MB", "used") == 2048


def test_only_a_change_is_told(rig, tracker):
    instance = sized()
    tracker.claim(instance)
    tracker.release(instance.uuid)
    tracker.release(instance.uuid)
    tracker.set_enabled(True, version=0)
    assert rig.reporter.changes == 2


def test_what_is_here_already_counts_even_if_it_does_not_fit(tracker):
    tracker.fill([sized(memory_mb=9999)])
    with pytest.raises(exception.NoCapacity, match="1 requested, 0 free"):
        tracker.claim(sized(memory_mb=1))


def test_a_report_says_what_the_host_has_and_holds(tracker):
    instance = sized(vcpus=2, memory_mb=512, root_gb=3, swap=1)
    tracker.claim(instance)
    report = tracker.report()
    assert (report.host, report.node, report.availability_zone) == ("h1", "h1", "nova")
    has = {one.resource_class: one for one in report.inventories}
    assert (has["VCPU"].total, has["VCPU"].allocation_ratio, has["VCPU"].used) == (4, 2.0, 2)
    memory, disk = has["MEMORY_MB"], has["DISK_GB"]
    assert (memory.total, memory.reserved, memory.used) == (4096, 1024, 512)
    assert (disk.total, disk.used) == (40, 4)
    assert report.instances == [instance.uuid]
    assert report.enabled
    assert report.up


def test_a_host_reports_nothing_before_it_knows_its_cell_and_what_belongs_there(rig):
    with pytest.raises(exception.Unavailable):
        rig.tracker.report()
    rig.tracker.locate(cell_uuid=CELL1)
    with pytest.raises(exception.Unavailable):
        rig.tracker.report()
    rig.tracker.fill([])
    assert rig.tracker.report().cell_uuid == CELL1


def test_threads_that_claim_at_once_never_take_more_than_there_is(tracker):
    outcomes = []

    def claim():
        try:
            tracker.claim(sized(vcpus=1, memory_mb=512))
            outcomes.append(True)
        except exception.NoCapacity:
            outcomes.append(False)

    threads = [threading.Thread(target=claim) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcomes) == 6


def test_settings_come_from_the_options_with_disk_rounded_up_to_gib():
    options = {"reserved_host_disk_mb": 1025, "cpu_allocation_ratio": 16.0}
    settings = HostSettings.from_conf(conf.of({"DEFAULT": {"host": "h9"}, "compute": options}))
    assert settings.host == "h9"
    assert settings.reserved == Amounts(vcpus=0, memory_mb=512, disk_gb=2)
    assert settings.ratios == Amounts(vcpus=16.0, memory_mb=1.0, disk_gb=1.0)


def test_a_report_that_schedulers_would_refuse_is_not_sent(rig, tracker):
    rig.virt.resources = lambda: dataclasses.replace(RESOURCES, vcpus=2**70)
    with pytest.raises(exception.Invalid, match=r"host h1, .*: VCPU cannot have such a total"):
        tracker.report()


def test_a_host_with_less_than_it_reserves_has_nothing_for_servers(rig, tracker):
    rig.virt.resources = lambda: dataclasses.replace(RESOURCES, memory_mb=100)
    (inventory,) = (
        one for one in tracker.report().inventories if one.resource_class == "MEMORY_MB"
    )
    assert (inventory.total, inventory.reserved, inventory.capacity) == (100, 100, 0)
