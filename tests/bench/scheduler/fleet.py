"""Hosts for benches of the scheduler, in memory and in a database, and what is asked of them."""

import datetime
import json
import random

import numpy as np
import sqlalchemy as sa

from roost.db.scheduler import models
from roost.db.scheduler.hosts import HostRow
from roost.objects import NUMACell
from roost.scheduler import table
from roost.scheduler.hosts import HostColumns
from tests.builders import CELL1, CELL2, a_flavor, a_spec, an_aggregate, taken

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
    topology = _topology() if pinning else None
    sizes = (_ROOMY * VCPUS, _ROOMY * MEMORY, _ROOMY * DISK)
    inventories = _inventories(*sizes, classes=classes, parts=parts)
    hosts = HostColumns([_row(number, topology, inventories) for number in range(1, count + 1)])
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


def _row(number, topology, inventories):
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
        **_half(number, (_ROOMY * VCPUS * RATIO, _ROOMY * MEMORY, _ROOMY * DISK)),
        profile=_PROFILES[number // 2 % 2],
        inventories=inventories,
        topology=topology,
    )


def _stored(number):
    now = datetime.datetime.now(datetime.UTC)
    used = _half(number, (VCPUS * RATIO, MEMORY, DISK))
    return {
        "id": number,
        "host": _name(number),
        "node": _name(number),
        "cell_uuid": (CELL1, CELL2)[number % 2],
        "availability_zone": ZONES[number % 3],
        "inventories": _inventories(VCPUS, MEMORY, DISK),
        "used": used["used"],
        "instances_used": used["instances"],
        "profile": _PROFILES[number // 2 % 2],
        "description_digest": "",
        "contents_digest": "",
        "reported_at": now,
        "generation": 1,
        "described": 1,
        "touched_at": now - datetime.timedelta(hours=1),
    }


def _half(number, sizes):
    vcpus, memory, disk = _used(number, sizes)
    used = taken(vcpus=vcpus, memory_mb=memory, disk_gb=disk)
    return {"used": used, "instances": vcpus // 2}


def _used(number, sizes):
    """Return between a quarter and three quarters of each size, the same share of all."""
    share = random.Random(number).uniform(0.25, 0.75)
    return [int(size * share) for size in sizes]


def _topology():
    cells = [
        NUMACell.of(
            id=at,
            cpus=[],
            pcpus=list(range(at * PINNED, (at + 1) * PINNED)),
            memory_mb=_ROOMY * MEMORY // 2,
        )
        for at in range(2)
    ]
    return json.dumps([[one.obj_to_primitive() for one in cells], []])


def _inventories(vcpus, memory, disk, *, classes=0, parts=0):
    """Return the inventories of a host as rows have them."""
    amounts = {"VCPU": vcpus, "PCPU": 2 * PINNED, "MEMORY_MB": memory, "DISK_GB": disk}
    amounts |= {f"CUSTOM_{at}": _MANY for at in range(classes)}
    own = {
        name: (total, 0, 1, total, 1, RATIO if name == "VCPU" else 1.0)
        for name, total in amounts.items()
    }
    vgpus = {"VGPU": (_MANY, 0, 1, _MANY, 1, 1.0)}
    gpus = [(f"gpu{at}", "", None, [], vgpus) for at in range(parts)]
    return json.dumps([("", "", None, [], own), *gpus])


def _name(number):
    return f"h{number:06}"
