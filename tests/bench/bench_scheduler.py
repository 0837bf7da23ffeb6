"""What the scheduler costs: decisions and claims per second, CPU, memory.

    python -m tests.bench.bench_scheduler engine --hosts 1000 10000
    python -m tests.bench.bench_scheduler committed --kind postgresql --processes 1 2 4
    python -m tests.bench.bench_scheduler bus
    python -m tests.bench.bench_scheduler growth --plot growth.png

Reports, and judges nothing: rates depend on who else uses the machine, CPU seconds much less.
"""

from roost import concurrency

concurrency.select([])

import argparse
import logging

from tests.bench import meters
from tests.bench.scheduler import engine_alone, growth, nova_comparison, over_bus, with_database


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    commands = parser.add_subparsers(required=True)
    engine = commands.add_parser("engine", help=engine_alone.__doc__)
    engine.add_argument("--hosts", type=int, nargs="+", default=[1000, 10_000, 100_000])
    engine.set_defaults(run=lambda asked: engine_alone.bench(asked.hosts, seconds=asked.seconds))
    claims = commands.add_parser("committed", help=with_database.__doc__)
    claims.add_argument("--kind", nargs="+", default=["sqlite", "postgresql", "mariadb"])
    claims.add_argument("--hosts", type=int, default=10_000)
    claims.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    claims.add_argument("--callers", type=int, default=64)
    claims.add_argument("--best-of", type=int, default=1, help="the option of that name")
    claims.set_defaults(
        run=lambda asked: with_database.bench(
            asked.kind,
            hosts=asked.hosts,
            processes=asked.processes,
            callers=asked.callers,
            best_of=asked.best_of,
            seconds=asked.seconds,
        )
    )
    calls = commands.add_parser("bus", help=over_bus.__doc__)
    calls.add_argument("--kind", default="postgresql")
    calls.add_argument("--hosts", type=int, default=10_000)
    calls.add_argument("--callers", type=int, default=64)
    calls.add_argument("--processes", type=int, default=4, help="of callers")
    calls.add_argument("--workers", type=int, default=1, help="of the scheduler")
    calls.add_argument("--threads", type=int, default=64, help="of a scheduler process")
    calls.set_defaults(
        run=lambda asked: over_bus.bench(
            asked.kind,
            hosts=asked.hosts,
            callers=asked.callers,
            processes=asked.processes,
            workers=asked.workers,
            threads=asked.threads,
            seconds=asked.seconds,
        )
    )
    larger = commands.add_parser("growth", help=growth.__doc__)
    larger.add_argument("--kind", default="postgresql")
    larger.add_argument(
        "--hosts", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000]
    )
    larger.add_argument("--plot", help="draw it to this file; needs matplotlib")
    larger.set_defaults(
        run=lambda asked: growth.bench(
            asked.kind, asked.hosts, seconds=asked.seconds, plot=asked.plot
        )
    )
    beside = commands.add_parser("peer", help=nova_comparison.__doc__)
    beside.add_argument("--kind", default="postgresql")
    beside.set_defaults(run=lambda asked: nova_comparison.bench(asked.kind, seconds=asked.seconds))
    asked = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    before = meters.load()
    asked.run(asked)
    print(f"\nLoad of the machine: {before:.1f} before, {meters.load():.1f} after")


if __name__ == "__main__":
    main()
