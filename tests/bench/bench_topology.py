"""What it costs to fit an instance into a host's NUMA cells and devices, in CPU microseconds.

python -m tests.bench.bench_topology
"""

import functools
import time

from roost.scheduler.topology import HeldTopology, HostTopology, fit
from tests.builders import a_numa_cell, a_numa_topology, a_pci_pool, a_pci_request

ROUNDS, CALLS = 5, 1000


def a_host(cells, cores):
    """Cells of so many cores of two threads, with huge pages, and a device near each."""
    made = []
    for number in range(cells):
        first = number * cores * 2
        made.append(
            a_numa_cell(
                number,
                pcpus=list(range(first, first + 2 * cores)),
                siblings=[[first + n, first + cores + n] for n in range(cores)],
                memory_mb=256 * 1024,
                page_counts={"1048576": 64, "2048": 10240},
            )
        )
    return HostTopology.of(made, [a_pci_pool(numa_node=number) for number in range(cells)])


def pinned(*counts, threads="prefer", **values):
    cells = [{"pcpus": list(range(count)), **values} for count in counts]
    return a_numa_topology(*cells, cpu_policy="dedicated", cpu_thread_policy=threads)


def near(count):
    return [a_pci_request(count=count, numa_policy="required")]


QUESTIONS = {
    "1 cell, 4 CPUs": (pinned(4), []),
    "2 cells, 4 CPUs each": (pinned(4, 4), []),
    "1 cell, 16 CPUs, 1 GiB pages": (pinned(16, page_size="1048576"), []),
    "2 cells, 4 isolated CPUs each": (pinned(4, 4, threads="isolate"), []),
    "2 cells, 4 CPUs of whole cores each": (pinned(4, 4, threads="require"), []),
    "1 cell, 4 CPUs, a device near": (pinned(4), near(1)),
    "2 cells, 4 CPUs each, 2 devices near": (pinned(4, 4), near(2)),
    "a device, no cells": (None, near(1)),
    "refused: more CPUs than a cell has": (pinned(100), []),
    "refused: a device too much": (pinned(4, 4), near(3)),
}


def cost(step):
    """Return the CPU microseconds of a call, of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            step()
        best = min(best, time.process_time() - began)
    return best / CALLS * 1e6


def main():
    small, large = a_host(2, 16), a_host(8, 32)
    print(f"{'us CPU':<40}{'2 x 16 cores':>14}{'8 x 32 cores':>14}")
    for what, (numa, pci) in QUESTIONS.items():
        costs = [cost(functools.partial(fit, numa, pci, host)) for host in (small, large)]
        print(f"{what:<40}" + "".join(f"{each:>14.1f}" for each in costs))
    held = fit(pinned(4, 4), near(1), small)
    assert isinstance(held, HeldTopology)
    text = held.to_json()
    for what, step in {
        "taking": lambda: small.taking(held),
        "as objects": lambda: (held.numa, held.pci),
        "to JSON": held.to_json,
        "from JSON": lambda: HeldTopology.from_json(text),
    }.items():
        print(f"{what:<40}{cost(step):>14.1f}")


if __name__ == "__main__":
    main()
