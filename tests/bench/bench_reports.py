"""What reports of hosts cost: bytes on the bus, and what schedulers store of them.

    python -m tests.bench.bench_reports [--hosts 1000] [--rounds 3] [--db postgresql]

Each host is the tracker of a real one, with two NUMA cells, 20 servers, the capabilities of a
Xeon as libvirt has them, and ten metrics that differ in each report. Nothing else changes.
"""

import argparse
import dataclasses
import json
import logging
import random
import time

import sqlalchemy as sa

from roost import conf, states
from roost.compute.collectors import Collected, Collectors, DriverCollector, offered_by
from roost.compute.host_report import Amounts, HostSettings
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.driver import HostResources
from roost.compute.virt.libvirt import node
from roost.context import admin_context
from roost.db.engine import Database
from roost.db.scheduler import models
from roost.rpc.serializer import ObjectSerializer
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager
from tests.bench import meters
from tests.bench.scheduler import with_database
from tests.builders import CELL1, a_flavor, a_numa_cell, an_instance

SERVERS = 20
WARM_UP = 3  # reports of each host, until all its servers have claims that agree with them
FEATURES = (
    "vme ds acpi ss ht tm pbe dtes64 monitor ds_cpl vmx smx est tm2 xtpr pdcm dca osxsave f16c "
    "rdrand fsgsbase tsc_adjust clflushopt intel-pt avx512cd sha-ni pku ospke avx512vnni md-clear "
    "stibp arch-capabilities xsaves mbm_total mbm_local invtsc mce cx8 apic sep mtrr pge mca cmov "
    "pat pse36 clflush mmx fxsr sse sse2 pni pclmuldq ssse3 fma cx16 pcid sse4.1 sse4.2 x2apic "
    "movbe popcnt aes xsave avx avx2 bmi1 bmi2 erms invpcid avx512f avx512dq rdseed adx smap"
)
CPU_INFO = {
    "arch": "x86_64",
    "model": "Cascadelake-Server-noTSX",
    "vendor": "Intel",
    "topology": {"sockets": 2, "cores": 32, "threads": 2},
    "features": sorted(FEATURES.split()),
}
METRICS = (
    *(f"cpu.{kind}.{what}" for kind in ("user", "kernel", "idle", "iowait")
      for what in ("time", "percent")),
    *("cpu.percent", "cpu.frequency"),
)  # fmt: skip
RESOURCES = HostResources(
    node="",
    vcpus=128,
    memory_mb=512 * 1024,
    disk_gb=8000,
    hypervisor_type="QEMU",
    hypervisor_version=8002000,
    architectures=("x86_64", "i686"),
    capabilities=node.comparable(CPU_INFO),
    traits=(*node._ALWAYS, *node._OF_PCS, "HW_CPU_X86_AVX2"),
    labels=("rack7", "room=north", "physical_network=physnet1"),
    numa_cells=tuple(
        a_numa_cell(number, cpus=[*range(64 * number, 64 * number + 64)]) for number in range(2)
    ),
    cpu_info=CPU_INFO,
)
# The options of schedulers by the name of a row.
CASES = {
    "metrics of two names": {
        "weighers": ["ram", "metrics"],
        "metrics_weights": ["cpu.percent=-0.01", "cpu.iowait.percent=-0.01"],
    },
    "defaults": {},
    "no capabilities either": {"filters": ["enabled", "requested", "ram", "cpu", "disk"]},
}


class Machine:
    """What a driver says of a host."""

    def __init__(self, name):
        self._resources = dataclasses.replace(RESOURCES, node=name)

    def resources(self):
        return self._resources

    def collectors(self):
        return {"cpu": DriverCollector(self._measure, 30.0)}

    def _measure(self):
        return Collected(metrics={name: random.random() * 100 for name in METRICS})


def host(number):
    name = f"h{number:06}"
    settings = HostSettings(name, "nova", Amounts(0, 512, 0), Amounts(4.0, 1.0, 1.0))
    machine = Machine(name)
    tracker = ResourceTracker(
        machine,
        settings=settings,
        on_change=lambda: None,
        collectors=Collectors(offered_by(machine)),
    )
    tracker.locate(cell_uuid=CELL1)
    flavor, done = a_flavor(vcpus=4, memory_mb=8192), {"task_state": None, "host": name}
    tracker.fill(an_instance(flavor=flavor, vm_state=states.ACTIVE, **done) for _ in range(SERVERS))
    return tracker


def size(report):
    """Return the bytes of a report in its message."""
    return len(json.dumps(ObjectSerializer().serialize_entity(admin_context(), report)))


def measure(case, hosts, manager, database, *, read, rounds):
    for tracker in hosts:
        tracker.set_read_parts(read)
        manager.update_resource_stats(admin_context(), report=tracker.report())
    before, count = described(database), rounds * len(hosts)
    bytes_sent, cpu, took = 0, 0.0, 0.0
    for tracker in hosts * rounds:
        tracker.ask_collectors(tracker.collectors.intervals())
        report = tracker.report()
        bytes_sent += size(report)
        used, began = time.process_time(), time.monotonic()
        manager.update_resource_stats(admin_context(), report=report)
        cpu += time.process_time() - used
        took += time.monotonic() - began
    return {
        "schedulers read": case,
        "bytes per report": round(bytes_sent / count),
        "descriptions written": described(database) - before,
        "CPU ms per report": round(1000 * cpu / count, 2),
        "reports/s": round(count / took),
    }


def described(database):
    """Return how often descriptions of hosts were written."""
    with database.read() as session:
        return int(session.scalar(sa.select(sa.func.sum(models.hosts.c.described))) or 0)


def main():
    logging.disable()
    asked = _arguments()
    hosts = [host(number) for number in range(asked.hosts)]
    rows = []
    with with_database.database_of(asked.db) as url:
        database = Database(url)
        models.metadata.create_all(database.engine)
        manager = SchedulerManager(database, driver=plugins.load_driver(conf.of({}).scheduler))
        for tracker in hosts * WARM_UP:
            manager.update_resource_stats(admin_context(), report=tracker.report())
        for case, options in {"everything": None, **CASES}.items():
            known = conf.of({"scheduler": options or {}}).scheduler
            driver = plugins.load_driver(known)
            manager = SchedulerManager(database, driver=driver)
            read = None if options is None else driver.engine.reads
            rows.append(measure(case, hosts, manager, database, read=read, rounds=asked.rounds))
        database.close()
    meters.table(f"{asked.rounds} reports of each of {asked.hosts:,} hosts", rows)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--db", default="sqlite")
    return parser.parse_args()


if __name__ == "__main__":
    main()
