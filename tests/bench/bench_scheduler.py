"""How many decisions per second, and what each costs.

    python -m tests.bench.bench_scheduler [--hosts 1000 10000] [--url sqlite:////tmp/x.sqlite ...]

Per number of hosts: the engine alone (decide in memory, nothing written), and whole
``select_destinations`` calls, committed, in the databases given (tables come and go).
CPU is this process's; a database server's comes on top.
"""

from roost import concurrency

concurrency.select([])

import argparse
import datetime
import pathlib
import tempfile
import time

import sqlalchemy as sa

from roost import conf
from roost.context import admin_context
from roost.db.engine import Database
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import models
from roost.scheduler import plugins
from roost.scheduler.hosts import Hosts
from roost.scheduler.manager import SchedulerManager
from roost.scheduler.request import Request
from tests.builders import CELL1, CELL2, a_report, a_spec, a_uuid

SECONDS = 2.0


def measure(step):
    """Call ``step`` for a while; return calls per second and CPU microseconds per call."""
    step()
    calls, began, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < SECONDS:
        step()
        calls += 1
    wall = time.perf_counter() - began
    return calls / wall, (time.process_time() - cpu) / calls * 1e6


def say(what, hosts, figures):
    rate, cpu = figures
    print(f"{what:<34} {hosts:>7,} hosts {rate:>10,.0f} /s {cpu:>10,.0f} us CPU")


def report(number):
    name, cell = f"h{number:05}", (CELL1, CELL2)[number % 2]
    now = datetime.datetime.now(datetime.UTC)
    big = {"vcpus": 10**6, "memory_mb": 10**9, "disk_gb": 10**7}
    return a_report(name, cell_uuid=cell, reported_at=now, **big)


def fill(database, count):
    with database.begin() as session:
        for number in range(count):
            made = report(number)
            host_rows.take_in(session, made, reported_at=made.reported_at)


def engine_alone(driver, database, count):
    with database.read() as session:
        ids = [host_id for host_id, _ in host_rows.generations(session)]
        hosts = Hosts.of(host_rows.read(session, ids))
    for instances in (1, 10):
        request = Request.of(a_spec(), placed=[None] * instances, alternates=3)
        figures = measure(lambda asked=request: driver.decide(asked, hosts))
        say(f"engine alone, {instances} per request", count, figures)


def committed(driver, database, count):
    manager = SchedulerManager(database, driver=driver, host_silence=10**6)
    context, spec = admin_context(), a_spec()
    for instances in (1, 10):

        def select(wanted=instances):
            manager.select_destinations(
                context,
                request_spec=spec,
                instance_uuids=[a_uuid() for _ in range(wanted)],
                alternates=3,
            )

        kind = sa.make_url(database.url).get_backend_name()
        say(f"{kind}, {instances} per request", count, measure(select))


def bench(url, count):
    database = Database(url)
    models.metadata.drop_all(database.engine)
    models.metadata.create_all(database.engine)
    try:
        fill(database, count)
        driver = plugins.load_driver(conf.of({}).scheduler)
        engine_alone(driver, database, count)
        committed(driver, database, count)
    finally:
        models.metadata.drop_all(database.engine)
        database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--url", nargs="+", help="databases to commit in (default: a SQLite file)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for url in options.url or [f"sqlite:///{pathlib.Path(folder) / 'bench.sqlite'}"]:
            for count in options.hosts:
                bench(url, count)


if __name__ == "__main__":
    main()
