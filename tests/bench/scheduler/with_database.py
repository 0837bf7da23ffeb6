"""Whole calls of scheduler processes, claims committed in a real database; no bus between."""

import contextlib
import dataclasses
import pathlib
import tempfile
import threading
import time

import sqlalchemy as sa

from roost import conf
from roost.context import admin_context
from roost.db.engine import Database
from roost.rig import services
from roost.scheduler import plugins
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.manager import SchedulerManager
from tests.bench import meters, worker_processes
from tests.bench.scheduler import fleet
from tests.builders import a_uuid

ALTERNATES = 2
SILENCE = LivenessTimeouts(host=1e9, cell=1e9)  # whoever is slow is not down
_DURABLE = {
    "postgresql": ("fsync", "synchronous_commit", "full_page_writes"),
    "mariadb": ("innodb_flush_log_at_trx_commit", "innodb_doublewrite", "sync_binlog"),
}


@dataclasses.dataclass
class Found:
    """What a scheduler process found: its calls, its CPU, and what ``manager.batches`` counted."""

    latencies: list[float]
    cpu: float
    counts: dict[str, int]


def bench(kinds, *, hosts, processes, callers, best_of, seconds):
    """Print claims per second and what one costs, by database and number of schedulers."""
    rows = []
    for kind in kinds:
        with database_of(kind) as url:
            for count in processes:
                jobs = [(url, callers // count, best_of, seconds)] * count
                rows.append(_measure(kind, url, hosts, jobs))
    meters.table(
        f"Committed claims, {hosts:,} half-full hosts, {callers} callers, best of {best_of}", rows
    )


@contextlib.contextmanager
def database_of(kind):
    """The URL of an empty database: on loopback's server, or on a private one."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/bench.sqlite"
            return
        server = services.KINDS[kind].find_or_start(pathlib.Path(folder))
        name = services.unique_name("bench")
        url = server.create_database(name)
        tell_durability(kind, url)
        try:
            yield url
        finally:
            server.drop_database(name)
            server.stop()


def tell_durability(kind, url):
    """Print what the server promises of a commit."""
    database = Database(url)
    statement = "SHOW {}" if kind == "postgresql" else "SELECT @@{}"
    with database.read() as session:
        told = {
            name: session.execute(sa.text(statement.format(name))).scalar()
            for name in _DURABLE[kind]
        }
    database.close()
    print(kind, *(f"{name}={value}" for name, value in told.items()))


def make_manager(database, *, best_of=1):
    options = conf.of({"scheduler": {"best_of": best_of}}).scheduler
    return SchedulerManager(database, driver=plugins.load_driver(options), silence=SILENCE)


def call(select, *, threads, seconds):
    """Ask for a server at a time from several threads for a while; return the latencies."""
    specs, latencies = fleet.specs(), [[] for _ in range(threads)]
    until = time.perf_counter() + seconds

    def ask(number):
        found, turn = latencies[number], number
        while (began := time.perf_counter()) < until:
            select(specs[turn % len(specs)])
            found.append(time.perf_counter() - began)
            turn += 1

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [latency for found in latencies for latency in found]


def schedule(pipe, url, threads, best_of, seconds):
    """Be a scheduler whose callers are threads of its own."""
    database = Database(url)
    manager, context = make_manager(database, best_of=best_of), admin_context()

    def select(spec):
        manager.select_destinations(
            context, request_spec=spec, instance_uuids=[a_uuid()], alternates=ALTERNATES
        )

    call(select, threads=threads, seconds=0.3)
    worker_processes.begin(pipe)
    counted, cpu = dict(manager.batches.counts), time.process_time()
    latencies = call(select, threads=threads, seconds=seconds)
    spent = time.process_time() - cpu
    counts = {name: n - counted.get(name, 0) for name, n in manager.batches.counts.items()}
    worker_processes.finish(pipe, Found(latencies, spent, counts))
    database.close()


def _measure(kind, url, hosts, jobs):
    database = Database(url)
    fleet.in_database(database, hosts)
    database.close()
    with worker_processes.crew(schedule, jobs) as schedulers:
        server = meters.ServerMeter(kind, sa.make_url(url).database)
        began = time.perf_counter()
        schedulers.go_on()
        found = schedulers.wait()
        wall, database_cpu = time.perf_counter() - began, server.spent()
        schedulers.go_on()
    return _row(kind, len(jobs), found, wall, database_cpu)


def _row(kind, count, found, wall, database_cpu):
    latencies = [latency for one in found for latency in one.latencies]
    counts = {
        name: sum(one.counts.get(name, 0) for one in found)
        for name in ("transactions", "orders", "redone", "rechecked", "raced")
    }
    cpu = sum(one.cpu for one in found)
    return {
        "database": kind,
        "schedulers": count,
        "claims/s": round(len(latencies) / wall),
        "p50 ms": round(1e3 * meters.percentile(latencies, 50), 1),
        "p99 ms": round(1e3 * meters.percentile(latencies, 99), 1),
        "us scheduler": round(cpu / len(latencies) * 1e6),
        "us database": round(database_cpu / len(latencies) * 1e6),
        "batch": round(counts["orders"] / counts["transactions"], 1),
        "redone %": round(100 * counts["redone"] / counts["orders"], 2),
        "rechecked %": round(100 * counts["rechecked"] / counts["orders"], 2),
        "raced %": round(100 * counts["raced"] / counts["orders"], 2),
        "cores": round((cpu + database_cpu) / wall, 2),
    }
