"""How ways to place compare on a recorded trace, and how many VMs a second a replay decides.

    python -m tests.bench.bench_simulate vms-bernoulli-0.csv.gz

For the trace of Azure's VMs that doc/simulate.rst cites; the fleets are of its servers.
"""

from roost import concurrency

concurrency.select([])

import argparse
import pathlib

from roost import conf
from roost.scheduler import plugins
from roost.scheduler.simulation import course, trace
from roost.scheduler.simulation.amounts import SCALE
from roost.scheduler.simulation.course import Window
from roost.scheduler.simulation.inventory import HostKind
from roost.scheduler.simulation.study import Study
from tests.bench import meters

SERVERS = {
    "1": (9600, 2250),
    "2": (2400, 768),
    "10": (6400, 3072),
    "12": (4000, 2048),
    "16": (10400, 2250),
}
FLEETS = {
    "560 of kind 1": {"1": 560},
    "600 of kind 1": {"1": 600},
    "780 of five kinds": {"1": 130, "10": 130, "12": 130, "16": 130, "2": 260},
}
WAYS = {
    "pack": {"profile": "pack"},
    "spread": {"profile": "spread"},
    "none": {"profile": "none"},
    "chance": {"driver": "chance"},
}


class Options:
    """``[scheduler]`` as it is by default, but for what is named."""

    def __init__(self, values):
        self.__dict__.update(values)
        self._default = conf.of({}).scheduler

    def __getattr__(self, name):
        return getattr(self._default, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    read = trace.read(parser.parse_args().trace)
    before = meters.load()
    for name, fleet in FLEETS.items():
        _compare(name, read, fleet)
    print(f"\nLoad of the machine: {before:.1f} before, {meters.load():.1f} after")


def _compare(name, read, fleet):
    study = Study(
        trace=read,
        kinds=[
            HostKind(kind, count, *(size * SCALE for size in SERVERS[kind]))
            for kind, count in fleet.items()
        ],
        window=Window.of(read),
        reference=course.typical(read),
    )
    outline = study.outline()
    demand = ", ".join(f"{what} {share:.1%}" for what, share in outline.mean_demand.items())
    bound = f"{outline.bound_mean:.0f} mean, {outline.bound_peak} peak"
    rows = [
        _row(way, study.run(plugins.load_driver(Options(options))).summary)
        for way, options in WAYS.items()
    ]
    meters.table(f"{name}: mean demand {demand}; bound {bound}", rows)


def _row(way, summary):
    shares = {
        f"{name} stranded %": round(100 * share, 2)
        for name, share in summary.stranded_share_mean.items()
    }
    return {
        "way": way,
        "failed": summary.failed,
        "failed cores": round(summary.failed_amounts["cores"]),
        "failed ram": round(summary.failed_amounts["ram"]),
        "in use, mean": round(summary.hosts_used_mean, 1),
        "peak": summary.hosts_used_peak,
        "times bound": round(summary.hosts_over_bound, 3),
        "empty %": round(100 * summary.empty_share_mean, 1),
        **shares,
        "VMs/s": round(summary.vms_per_second),
    }


if __name__ == "__main__":
    main()
