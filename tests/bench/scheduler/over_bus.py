"""Calls through RabbitMQ: a scheduler daemon, and callers in processes of their own."""

import contextlib
import logging
import pathlib
import subprocess
import sys
import tempfile
import time

import psutil
import sqlalchemy as sa

from roost import conf, exception, migrations
from roost.context import admin_context
from roost.db.engine import Database
from roost.rig import services
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from tests.bench import meters, worker_processes
from tests.bench.scheduler import fleet, with_database
from tests.builders import a_spec, a_uuid

MANY = 1000  # servers in one request
_PATIENCE = 60  # seconds until the daemon serves


def bench(kind, *, hosts, callers, processes, workers, threads, seconds):
    """Print latencies, rates, and who spends how much on a call; then a request for many."""
    with _served(kind, hosts, workers=workers, threads=threads) as (url, bus, daemon):
        jobs = [(bus, callers // processes, seconds)] * processes
        with worker_processes.crew(ask, jobs) as asking:
            row = _measure(kind, url, asking, daemon)
        found = worker_processes.alone(ask_for_many, bus)
    meters.table(
        f"Through RabbitMQ, {hosts:,} half-full hosts, {callers} callers in {processes} processes,"
        f" {workers} scheduler process(es) of {threads} threads",
        [row],
    )
    _tell_many(kind, hosts, found)


def measure(kind, hosts, *, callers, seconds):
    """Return the figures of so many callers in one process, and one scheduler as by default."""
    with (
        _served(kind, hosts, workers=1, threads=16) as (url, bus, daemon),
        worker_processes.crew(ask, [(bus, callers, seconds)]) as asking,
    ):
        return _measure(kind, url, asking, daemon)


def ask(pipe, bus_url, threads, seconds):
    """Be a process of callers."""
    logging.getLogger("oslo_messaging").setLevel(logging.ERROR)  # it minds many calls at once
    bus = Bus(conf.of({}), bus_url)
    client, context = SchedulerClient(bus), admin_context()

    def select(spec):
        client.select_destinations(
            context,
            request_spec=spec,
            instance_uuids=[a_uuid()],
            alternates=with_database.ALTERNATES,
        )

    wait_for(client, context)
    with_database.call(select, threads=threads, seconds=0.5)
    worker_processes.begin(pipe)
    cpu = time.process_time()
    latencies = with_database.call(select, threads=threads, seconds=seconds)
    worker_processes.finish(pipe, (latencies, time.process_time() - cpu))
    bus.close()


def ask_for_many(pipe, bus_url):
    """Be a caller who wants many servers at once, five times."""
    bus = Bus(conf.of({}), bus_url)
    client, context = SchedulerClient(bus), admin_context()
    wait_for(client, context)
    worker_processes.begin(pipe)
    found = [
        meters.once(
            lambda: client.select_destinations(
                context,
                request_spec=a_spec(num_instances=MANY),
                instance_uuids=[a_uuid() for _ in range(MANY)],
                alternates=with_database.ALTERNATES,
            )
        )
        for _ in range(5)
    ]
    worker_processes.finish(pipe, found)
    bus.close()


def _measure(kind, url, asking, daemon):
    servers = [
        meters.ServerMeter(kind, sa.make_url(url).database),
        meters.ServerMeter("rabbitmq"),
    ]
    cpu, began = _seconds(daemon), time.perf_counter()
    asking.go_on()
    found = asking.wait()
    wall, scheduler = time.perf_counter() - began, _seconds(daemon) - cpu
    database, broker = (server.spent() for server in servers)
    asking.go_on()
    latencies = [latency for one, _ in found for latency in one]
    each = 1e6 / len(latencies)
    return {
        "database": kind,
        "calls/s": round(len(latencies) / wall),
        "p50 ms": round(1e3 * meters.percentile(latencies, 50), 1),
        "p99 ms": round(1e3 * meters.percentile(latencies, 99), 1),
        "us scheduler": round(scheduler * each),
        "us callers": round(sum(spent for _, spent in found) * each),
        "us database": round(database * each),
        "us broker": round(broker * each),
        "MiB": round(sum(each.memory_info().rss for each in _processes(daemon)) / 2**20),
    }


def _tell_many(kind, hosts, found):
    rows = [
        {
            "database": kind,
            "time": number,
            "wall ms": round(1e3 * spent.wall),
            "caller CPU ms": round(1e3 * spent.cpu),
        }
        for number, spent in enumerate(found, start=1)
    ]
    meters.table(f"One request for {MANY:,} servers through RabbitMQ, {hosts:,} hosts", rows)


@contextlib.contextmanager
def _served(kind, hosts, *, workers, threads):
    """A scheduler on a full database, an empty virtual host, and how to reach them."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(with_database.database_of(kind))
        bus = stack.enter_context(vhost())
        fill(url, hosts)
        daemon = _scheduler(url, bus, workers=workers, threads=threads)
        yield url, bus, stack.enter_context(daemon)


@contextlib.contextmanager
def vhost():
    with tempfile.TemporaryDirectory() as folder:
        server = services.RabbitMQ.find_or_start(pathlib.Path(folder))
        name = services.unique_name("bench")
        yield server.create_vhost(name)
        server.delete_vhost(name)
        server.stop()


def fill(url, hosts):
    database = Database(url)
    migrations.sync(database, migrations.SCHEDULER)
    fleet.fill(database, hosts)
    database.close()


@contextlib.contextmanager
def _scheduler(url, bus_url, *, workers, threads):
    """A daemon as operators run it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "roost.conf"
        file.write_text(
            f"[DEFAULT]\ntransport_url = {bus_url}\nstate_path = {folder}\nhost = bench\n"
            "service_down_time = 1000000\n"
            f"rpc_threads = {threads}\nworkers = {workers}\n"
            f"[oslo_messaging_rabbit]\nrpc_conn_pool_size = {threads + 2}\n"
            f"[scheduler_database]\nconnection = {url}\n"
        )
        program = pathlib.Path(sys.executable).parent / "roost-scheduler"
        log = (pathlib.Path(folder) / "log").open("wb")
        command = [program, "--config-file", file]
        with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                yield psutil.Process(process.pid)
            finally:
                process.terminate()


def wait_for(client, context):
    """Wait until the daemon serves."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            client.list_hosts(context, limit=1)
        except exception.RoostError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


def _seconds(daemon):
    times = [each.cpu_times() for each in _processes(daemon)]
    return sum(each.user + each.system for each in times)


def _processes(daemon):
    """Return its workers, and the one that watches over them."""
    return [daemon, *daemon.children(recursive=True)]
