"""What each filter and weigher costs.

    python -m tests.bench.bench_plugins [--hosts 10000]

Per plug-in, in microseconds: to find out whether it applies and to what a remembered answer belongs
(for every request), to answer for all hosts (when nothing is remembered), and for one host (after
something happened to it). The engine remembers answers unless it says ``asks again``.
"""

from roost import concurrency

concurrency.select([])

import argparse
import time
from importlib import metadata

import numpy as np

from roost.objects import Locality
from roost.scheduler.filters import ASK_AGAIN, Filter
from roost.scheduler.hosts import HostColumns
from tests.builders import (
    CELL1,
    CELL2,
    a_flavor,
    a_group,
    a_numa_cell,
    a_pci_pool,
    a_pci_request,
    an_image,
)
from tests.unit.scheduler.host_builders import (
    a_request,
    a_row,
    an_aggregate,
    filters_of,
    hosts_of,
    weighers_of,
)
from tests.unit.scheduler.random_requests import OPTIONS
from tests.unit.scheduler.requests import tried

SECONDS = 0.3
CALLS = 10
EXTRA_SPECS = {
    "ssd": "true",
    "aggregate_instance_extra_specs:tier": "<or> gold <or> silver",
    "capabilities:nic": "fast",
    "trait:A": "required",
    "trait:B": "forbidden",
}
PROPERTIES = {"hw_architecture": "x86_64", "img_hv_type": "qemu", "os_distro": "debian"}


def a_host(number: int):
    """Of eight kinds, in two cells; every fourth has devices."""
    return a_row(
        f"h{number:06}",
        cell_uuid=(CELL1, CELL2)[number % 2],
        availability_zone=f"az{number % 3}",
        vcpus=64,
        memory_mb=262144,
        disk_gb=4096,
        used={
            "vcpus": number % 32,
            "memory_mb": number % 9999,
            "instances": number % 40,
        },
        io_operations=number % 5,
        host_ip=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        hypervisor_type="QEMU",
        hypervisor_version=8002000 + number % 2,
        architectures=["x86_64"],
        capabilities={"nic": "fast"},
        traits=["A"] if number % 8 else ["A", "B"],
        labels=[f"rack{number % 4}"],
        metrics={"cpu": number % 100 / 100, "net": 1.0},
        topology=None if number % 4 else ([a_numa_cell()], [a_pci_pool()]),
    )


def many_hosts(count: int) -> HostColumns:
    rows = [a_host(number) for number in range(count)]
    names = [row.host for row in rows]
    aggregates = [
        an_aggregate(*names[number::20], ssd="true", tier="gold,silver", filter_tenant_id="project")
        for number in range(20)
    ]
    return hosts_of(*rows, aggregates=aggregates)


def a_question(policy: str):
    return a_request(
        placed=[None],
        group_counts=dict.fromkeys(range(100), 1),
        rows_of={"i1": [0], "i2": [1]},
        flavor=a_flavor(extra_specs=EXTRA_SPECS),
        image=an_image(properties=PROPERTIES),
        availability_zone="az1",
        ignore_hosts=["h000001"],
        hints={
            "same_host": ["i1"],
            "different_host": ["i2"],
            "build_near_host_ip": ["10.0.0.7"],
            "query": ['["and", [">=", "$free_ram_mb", 4], ["=", "$hypervisor_type", "QEMU"]]'],
        },
        group=a_group(policy=policy),
        retry=tried(("h000003", None)),
        locality=[Locality.of(label=f"rack{number}", hard=number == 1) for number in range(3)],
        pci_requests=[a_pci_request()],
    )


def microseconds(step) -> float:
    """Return what a call costs when nobody else is in the way: the best of many rounds."""
    step()
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        start = time.perf_counter()
        for _ in range(CALLS):
            step()
        best = min(best, time.perf_counter() - start)
    return best / CALLS * 1e6


def question_for(each):
    policies = ("anti-affinity", "affinity", "soft-affinity", "soft-anti-affinity")
    found = (a_question(policy) for policy in policies)
    return next((request for request in found if each.applies_to(request)), None)


def measure(each, hosts: HostColumns) -> str | None:
    request = question_for(each)
    if request is None:
        return None
    ask = each.refuse if isinstance(each, Filter) else each.weigh
    row = np.array([len(hosts) // 2], dtype=np.intp)
    key = microseconds(lambda: each.applies_to(request) and each.key(request))
    whole = microseconds(lambda: ask(request, hosts))
    one = microseconds(lambda: ask(request, hosts.some(row)))
    again = "asks again" if each.key(request) is ASK_AGAIN else ""
    return f"{key:>8.1f} {whole:>12.1f} {one:>10.1f}  {again}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10_000)
    count = parser.parse_args().hosts
    hosts = many_hosts(count)
    print(
        f"{'us at ' + format(count, ',') + ' hosts':<46} {'key':>8} {'all hosts':>12} {'one':>10}"
    )
    for kind, load in (("filters", filters_of), ("weighers", weighers_of)):
        names = sorted(metadata.entry_points(group=f"roost.scheduler.{kind}").names)
        for made in load(*names, **OPTIONS):
            each = made if kind == "filters" else made.weigher
            if hasattr(each, "refuse") or hasattr(each, "weigh"):
                figures = measure(each, hosts)
                print(f"{kind[:-1]} {each.name:<38} {figures or '     not asked'}")


if __name__ == "__main__":
    main()
