"""Hosts and requests with a bit of everything, by seed: every filter and weigher gets to answer."""

import random

from roost.objects import Locality, ResourceInventory, ResourceProvider, report_parts
from tests.builders import (
    CELL1,
    CELL2,
    a_flavor,
    a_group,
    a_numa_cell,
    a_numa_topology,
    a_pci_pool,
    a_pci_request,
    an_image,
)
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate, hosts_of
from tests.unit.scheduler.requests import tried

NAMES = tuple(f"h{number}" for number in range(6))
IMAGES = ("5a0d4e6e-5e0c-4a35-8f12-1f0c7d3f0001", "5a0d4e6e-5e0c-4a35-8f12-1f0c7d3f0002")
GROUP = "5a0d4e6e-5e0c-4a35-8f12-1f0c7d3f0003"
OPTIONS = {
    "isolated_hosts": ["h1"],
    "isolated_images": [IMAGES[0]],
    "max_instances_per_host": 2,
    "max_io_ops_per_host": 2,
    "metrics_weights": ["cpu", "net=-0.5"],
}
METADATA = {
    "ssd": ["true", "false,maybe"],
    "os_distro": ["debian", "windows"],
    "filter_tenant_id": ["project", "other"],
    "instance_type": ["m1.tiny", "m1.huge"],
    "trait:A": ["required"],
    "labels": ["rack1,rack2"],
    "max_instances_per_host": ["1", "few"],
    "max_io_ops_per_host": ["1"],
    "availability_zone": ["east"],
}
EXTRA_SPECS = {
    "ssd": ["true"],
    "aggregate_instance_extra_specs:ssd": ["<or> maybe <or> true"],
    "capabilities:nic": ["fast"],
    "capabilities:free_ram_mb": [">= 3"],
    "capabilities:host": ["<in> 1"],
    "trait:A": ["required", "forbidden"],
    "resources:CUSTOM_A": ["1", "2", "5"],
    "resources1:VGPU": ["1"],
    "resources2:VGPU": ["1"],
    "trait1:A": ["required", "forbidden"],
    "group_policy": ["none", "isolate"],
}
PROPERTIES = {
    "os_distro": ["debian"],
    "hw_architecture": ["x86_64"],
    "img_hv_type": ["qemu"],
    "img_hv_requested_version": [">=7"],
    "hw_vm_mode": ["hvm"],
    "trait:B": ["required"],
}
HINTS = {
    "same_host": [["i1"], ["i1", "i2"], ["elsewhere"]],
    "different_host": [["i1"], ["elsewhere"]],
    "build_near_host_ip": [["10.0.0.7"], ["near"]],
    "query": [
        ['[">=", "$free_ram_mb", 4]'],
        ['["=", "$hypervisor_type", "QEMU"]'],
        ['["=", "$capabilities.nic", "fast"]'],
        ["[oops"],
    ],
}
POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
TOPOLOGIES = (None, ([a_numa_cell()], [a_pci_pool()]), ([a_numa_cell(0), a_numa_cell(1)], []))
INVENTORIES = [
    [ResourceInventory.of(resource_class="CUSTOM_A", total=3, max_unit=2)],
    [ResourceInventory.of(resource_class="VGPU", total=2, max_unit=1)],
]
PROVIDERS = (
    [],
    [ResourceProvider.of(name="", inventories=INVENTORIES[0])],
    [
        ResourceProvider.of(name=""),
        ResourceProvider.of(name="gpu0", traits=["A"], inventories=INVENTORIES[1]),
        ResourceProvider.of(name="gpu1", inventories=[*INVENTORIES[0], *INVENTORIES[1]]),
    ],
)
SIZES = ("vcpus", "pcpus", "memory_mb", "disk_gb")
PARTS = (report_parts.CAPABILITIES, report_parts.LABELS, report_parts.METRICS)


class Chance(random.Random):
    """Draws of what is needed here."""

    def some(self, values):
        return [value for value in values if self.random() < 0.5]

    def some_of(self, choices, likely=0.3):
        """A dictionary with some of the keys, each with one of its values."""
        return {
            name: self.choice(values) for name, values in choices.items() if self.random() < likely
        }

    def maybe(self, *values, likely=0.3):
        return self.choice(values) if self.random() < likely else None

    def sizes(self):
        return {name: self.randrange(5) for name in SIZES}


def some_hosts(seed, read=None):
    """Hosts of a seed; ``read`` are the parts of their reports that they do not leave out."""
    chance = Chance(seed)
    names = chance.some(NAMES) or NAMES[:1]
    aggregates = [
        an_aggregate(*chance.some(NAMES), **chance.some_of(METADATA))
        for _ in range(chance.randrange(4))
    ]
    rows = [a_row(name, **_values(chance, read)) for name in names]
    return hosts_of(*rows, aggregates=aggregates)


def _values(chance, read):
    values = dict(
        **{size: chance.randrange(10) for size in SIZES},
        used={**chance.sizes(), "instances": chance.randrange(5)},
        cell_uuid=chance.choice([CELL1, CELL2]),
        enabled=chance.random() < 0.7,
        told_down=chance.random() < 0.3,
        io_operations=chance.randrange(4),
        failed_builds=chance.randrange(4),
        host_ip=chance.choice([None, "10.0.0.1", "10.0.1.1"]),
        hypervisor_type=chance.choice(["QEMU", "xen"]),
        hypervisor_version=chance.choice([0, 6002000, 8002000]),
        architectures=chance.some(["x86_64", "aarch64"]),
        capabilities=chance.some_of({"nic": ["fast", "slow"]}),
        traits=chance.some(["A", "B"]),
        labels=chance.some(["rack1", "rack2"]),
        metrics=chance.some_of({"cpu": [0.5, 90.0], "net": [1.0]}, likely=0.7),
        topology=chance.choice(TOPOLOGIES),
        providers=chance.choice(PROVIDERS),
    )
    parts = {part: values.pop(part) for part in PARTS}
    return {**values, **report_parts.read_of(parts, read)}


def some_request(seed, hosts):
    """A request to these hosts."""
    chance = Chance(seed)
    rows = range(len(hosts))
    return a_request(
        placed=[chance.maybe(*rows) for _ in range(chance.randrange(1, 4))],
        group_counts={row: chance.randrange(3) for row in chance.some(rows)},
        rows_of={uuid: [chance.choice(rows)] for uuid in chance.some(["i1", "i2"])},
        flavor=_flavor(chance),
        image=chance.maybe(
            an_image(id=chance.choice(IMAGES), properties=chance.some_of(PROPERTIES)), likely=0.8
        ),
        project_id=chance.choice(["project", "nobody"]),
        availability_zone=chance.maybe("nova", "east"),
        requested_host=chance.maybe(*NAMES),
        requested_cell=chance.maybe(CELL1),
        ignore_hosts=chance.some(NAMES[:2]),
        hints=chance.some_of(HINTS),
        group=chance.maybe(
            a_group(
                uuid=GROUP,
                policy=chance.choice(POLICIES),
                max_server_per_host=chance.choice([None, 1, 2]),
            ),
            likely=0.8,
        ),
        retry=chance.maybe(tried(("h2", None)), tried(("h3", "h3"))),
        locality=[
            Locality.of(label=label, hard=chance.random() < 0.5)
            for label in chance.some(["rack1", "rack2"])
        ],
        pci_requests=chance.some([a_pci_request()]),
        numa_topology=chance.maybe(
            a_numa_topology({"pcpus": [0, 1]}, cpu_policy="dedicated"), likely=0.4
        ),
    )


def _flavor(chance):
    return a_flavor(
        name=chance.choice(["m1.tiny", "m1.small"]),
        vcpus=chance.randrange(2, 5),
        memory_mb=chance.randrange(5),
        root_gb=chance.randrange(5),
        extra_specs=chance.some_of(EXTRA_SPECS),
    )
