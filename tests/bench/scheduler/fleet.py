"""Hosts for benches of the scheduler, in memory and in a database, and what is asked of them."""

import datetime
import json
import random

import numpy as np
import sqlalchemy as sa

from roost.db.scheduler import models
from roost.db.scheduler.hosts import UNLIMITED, HostRow
from roost.objects import NUMACell, ResourceInventory, ResourceProvider
from roost.scheduler import table
from roost.scheduler.hosts import HostColumns
from tests.builders import CELL1, CELL2, a_flavor, a_spec, an_aggregate

VCPUS, MEMORY, DISK, RATIO = 64, 512 * 1024, 8000, 4.0
ZONES = ("north", "south", "west")
TRAIT = "HW_CPU_X86_AVX512F"
PINNED = 24  # CPUs of a NUMA cell that are given to one instance each
_ROOMY = 1000
_MANY = 10**6
_PROFILES = [
    json.dumps({"hypervisor_type": "QEMU", "hypervisor_version": 8002000, "traits": traits})
    for traits in ([], [TRAIT])
]


def in_memory(count, *, pinning=False, classes=0, parts=0):
    """Return half-full hosts of two cells and three zones, so large that no bench fills them.

    A third of them is in an aggregate with fast disks, a half has a trait. With ``pinning`` they
    also have two NUMA cells of CPUs for instances of their own; with ``classes`` so many custom
    resource classes, with ``parts`` so many virtual GPUs in as many GPUs.
    """
    topology = _topology(pinning, classes, parts) if pinning or classes or parts else None
    hosts = HostColumns([_row(number, topology) for number in range(1, count + 1)])
    aggregates = [
        an_aggregate(
            id=at,
            hosts=[_name(number) for number in range(1 + at, count + 1, len(ZONES))],
            metadata={"availability_zone": zone, "ssd": "true" if at == 0 else "false"},
        )
        for at, zone in enumerate(ZONES)
    ]
    table.enrol(hosts, np.arange(count), table.by_host(aggregates))
    return hosts


def in_database(database, count):
    """Make the tables anew, with hosts of ordinary size that are half full on average."""
    models.metadata.drop_all(database.engine)
    models.metadata.create_all(database.engine)
    fill(database, count)


def fill(database, count):
    """Add the hosts to tables that are there."""
    rows = [_stored(number) for number in range(1, count + 1)]
    with database.begin() as session:
        for start in range(0, count, 5000):
            session.execute(sa.insert(models.hosts), rows[start : start + 5000])


def specs():
    """Return questions for sixteen sizes, as they are asked again and again."""
    return [
        a_spec(flavor=a_flavor(vcpus=1 + kind % 4, memory_mb=1024 * (1 + kind // 4), root_gb=10))
        for kind in range(16)
    ]


def _row(number, topology):
    net = (_ROOMY * VCPUS, 2 * PINNED, _ROOMY * MEMORY, _ROOMY * DISK, UNLIMITED)
    return HostRow(
        id=number,
        generation=1,
        described=1,
        host=_name(number),
        node=_name(number),
        cell_uuid=(CELL1, CELL2)[number % 2],
        availability_zone="nova",
        enabled=True,
        told_down=False,
        reported_at=0.0,
        net=net,
        ratios=(RATIO, 1.0, 1.0, 1.0, 1.0),
        used=_half(number, net),
        profile=_PROFILES[number // 2 % 2],
        topology=topology,
    )


def _stored(number):
    now = datetime.datetime.now(datetime.UTC)
    vcpus, memory, disk = _used(number, (VCPUS * RATIO, MEMORY, DISK))
    return {
        "id": number,
        "host": _name(number),
        "node": _name(number),
        "cell_uuid": (CELL1, CELL2)[number % 2],
        "availability_zone": ZONES[number % 3],
        "vcpus": VCPUS,
        "memory_mb": MEMORY,
        "disk_gb": DISK,
        "vcpus_ratio": RATIO,
        "vcpus_used": vcpus,
        "memory_mb_used": memory,
        "disk_gb_used": disk,
        "instances_used": vcpus // 2,
        "profile": _PROFILES[number // 2 % 2],
        "description_digest": "",
        "contents_digest": "",
        "reported_at": now,
        "generation": 1,
        "described": 1,
        "touched_at": now - datetime.timedelta(hours=1),
    }


def _half(number, net):
    vcpus, memory, disk = _used(number, (net[0] * RATIO, net[2], net[3]))
    return (vcpus, 0, memory, disk, vcpus // 2)


def _used(number, sizes):
    """Return between a quarter and three quarters of each size, the same share of all."""
    share = random.Random(number).uniform(0.25, 0.75)
    return [int(size * share) for size in sizes]


def _topology(pinning, classes, parts):
    cells = [
        NUMACell.of(
            id=at,
            cpus=[],
            pcpus=list(range(at * PINNED, (at + 1) * PINNED)),
            memory_mb=_ROOMY * MEMORY // 2,
        )
        for at in range(2 if pinning else 0)
    ]
    own = [_many(f"CUSTOM_{at}") for at in range(classes)]
    providers = [ResourceProvider.of(name="", inventories=own)] if classes or parts else []
    providers += [
        ResourceProvider.of(name=f"gpu{at}", inventories=[_many("VGPU")]) for at in range(parts)
    ]
    found = (cells, [], providers)
    return json.dumps([[one.obj_to_primitive() for one in each] for each in found])


def _many(resource_class):
    return ResourceInventory.of(resource_class=resource_class, total=_MANY, max_unit=_MANY)


def _name(number):
    return f"h{number:06}"
