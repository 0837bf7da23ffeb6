"""How soon schedulers know what others have committed, and what it costs when nothing happens.

    python -m tests.bench.bench_stream delay   # from commit to another scheduler's memory
    python -m tests.bench.bench_stream idle    # CPU of schedulers whose hosts only report

Two scheduler daemons, each a process, on one database and one virtual host of RabbitMQ. With
``--polling`` they do not feed each other, and read what others have committed when they decide.
"""

import argparse
import itertools
import pathlib
import tempfile
import threading
import time

import sqlalchemy as sa

from roost import concurrency

concurrency.select([])

from roost import conf
from roost.cmd import scheduler as daemon
from roost.context import admin_context
from roost.db.engine import Database
from roost.db.scheduler import models
from roost.db.types import utcnow
from roost.rpc.scheduler import CellScheduler, Scheduler
from roost.rpc.transport import Bus
from tests.bench import meters, worker_processes
from tests.bench.scheduler import fleet, over_bus, with_database
from tests.builders import a_report, a_uuid

_SETTLE = 3.0  # seconds


class Observed(daemon.SchedulerManager):
    """A scheduler that notes when a generation of a host was committed here, and when known."""

    made = None

    def __init__(self, *parts, publish, **more):
        Observed.made = self
        self.committed, self.known = {}, {}

        def note(changes):
            now = time.monotonic()
            for usage in changes.usages.values():
                self.committed[usage.id, usage.generation] = now
            publish(changes)

        super().__init__(*parts, publish=note, **more)
        use = self._table.hosts.use

        def noting(row, usage):
            use(row, usage)
            now = time.monotonic()
            self.known.setdefault(usage.id, []).append((usage.generation, now))

        self._table.hosts.use = noting


def start(file, *, polling):
    """Start a scheduler as its daemon is built; return the daemon and its manager."""
    daemon.SchedulerManager = Observed
    made = daemon.build(conf.load([], files=[file]))
    if polling:
        made.servers = [each for each in made.servers if "feed" not in each.place]
        made.periodics = [
            each for each in made.periodics if not {*each.name.split()} & {"changes", "greeting"}
        ]
    made.start()
    return made, Observed.made


def claim(pipe, file, polling, rate, callers, seconds):
    """Be a scheduler that claims so many times a second, or all the time."""
    made, manager = start(file, polling=polling)
    specs, context = fleet.specs(), admin_context()

    def select(spec):
        manager.select_destinations(
            context, request_spec=spec, instance_uuids=[a_uuid()], alternates=2
        )
        if rate:
            time.sleep(callers / rate)

    select(specs[0])
    time.sleep(2 * _SETTLE)  # until it has heard of itself and of others
    worker_processes.begin(pipe)
    manager.committed.clear()
    cpu = time.process_time()
    latencies = with_database.call(select, threads=callers, seconds=seconds)
    cpu = time.process_time() - cpu
    time.sleep(_SETTLE)
    counts = dict(manager.batches.counts)
    worker_processes.finish(pipe, (manager.committed, manager.known, len(latencies), cpu, counts))
    made.stop(5)


def wait(pipe, file, polling, seconds):
    """Be a scheduler; return the CPU seconds that it takes in this time."""
    made, manager = start(file, polling=polling)
    manager.select_destinations(
        admin_context(), request_spec=fleet.specs()[0], instance_uuids=[a_uuid()], alternates=0
    )
    worker_processes.begin(pipe)
    time.sleep(_SETTLE)
    cpu = time.process_time()
    time.sleep(seconds)
    worker_processes.finish(pipe, time.process_time() - cpu)
    made.stop(5)


def send_reports(pipe, url, hosts, interval, requests, seconds):
    """Be all hosts, each of which reports once per interval; and somebody who asks for servers."""
    bus, context = Bus(conf.of({}), url), admin_context()
    cells, scheduler, specs = CellScheduler(bus), Scheduler(bus), fleet.specs()
    stopping = threading.Event()

    def report(number):
        name = f"h{number + 1:06}"
        told = a_report(
            name,
            vcpus=fleet.VCPUS,
            vcpus_ratio=fleet.RATIO,
            memory_mb=fleet.MEMORY,
            disk_gb=fleet.DISK,
        )
        told.reported_at = utcnow()
        cells.update_resource_stats(context, report=told)

    def ask():
        while requests and not stopping.wait(1 / requests):
            scheduler.select_destinations(
                context, request_spec=specs[0], instance_uuids=[a_uuid()], alternates=2
            )

    over_bus.wait_for(scheduler, context)
    time.sleep(_SETTLE)  # until the other one serves, too
    for number in range(hosts):
        report(number)
    time.sleep(_SETTLE)
    asking = threading.Thread(target=ask)
    worker_processes.begin(pipe)
    asking.start()
    began, sent = time.monotonic(), 0
    while (past := time.monotonic() - began) < seconds + 2 * _SETTLE:
        while sent < past * hosts / interval:
            report(sent % hosts)
            sent += 1
        time.sleep(0.02)
    stopping.set()
    asking.join()
    worker_processes.finish(pipe, sent)
    bus.close()


def play(pipe, role, *parts):
    role(pipe, *parts)


def measure(asked, work):
    """Return what ``work`` returns, given the URLs and the schedulers' files."""
    with (
        with_database.database_of(asked.db) as url,
        over_bus.vhost() as bus,
        tempfile.TemporaryDirectory() as folder,
    ):
        over_bus.fill(url, asked.hosts)
        files = []
        for number in range(asked.schedulers):
            files.append(str(pathlib.Path(folder) / f"s{number}.conf"))
            pathlib.Path(files[-1]).write_text(
                f"[DEFAULT]\ntransport_url = {bus}\nstate_path = {folder}\nhost = s{number}\n"
                f"service_down_time = 1000000\n[scheduler_database]\nconnection = {url}\n"
            )
        return work(url, bus, files)


def measure_delay(asked, rate, callers):
    def work(url, bus, files):
        jobs = [(claim, file, asked.polling, rate, callers, asked.seconds) for file in files]
        with worker_processes.crew(play, jobs) as schedulers:
            server = meters.ServerMeter("rabbitmq")
            schedulers.go_on()
            found = schedulers.wait()
            broker = server.spent()
            schedulers.go_on()
        return found, broker

    found, broker = measure(asked, work)
    delays = [
        delay
        for one, other in itertools.permutations(found, 2)
        for delay in _delays(one[0], other[1])
    ]
    known = [delay for delay in delays if delay is not None]
    claims = sum(one[2] for one in found)
    cpu = sum(one[3] for one in found)
    counts = {name: sum(one[4].get(name, 0) for one in found) for name in ("rechecked", "orders")}
    return {
        "claims/s": round(claims / asked.seconds),
        "commits": len(delays),
        "p50 ms": round(1e3 * meters.percentile(known, 50), 1) if known else "-",
        "p95 ms": round(1e3 * meters.percentile(known, 95), 1) if known else "-",
        "p99 ms": round(1e3 * meters.percentile(known, 99), 1) if known else "-",
        "unknown %": round(100 * (1 - len(known) / max(1, len(delays))), 1),
        "us scheduler": round(1e6 * cpu / claims),
        "us broker": round(1e6 * broker / claims),
        "rechecked %": round(100 * counts["rechecked"] / counts["orders"], 2),
    }


def _delays(committed, known):
    """Yield after how long each commit was known elsewhere: it, or a later one of the host."""
    for (host_id, generation), at in committed.items():
        times = [then for seen, then in known.get(host_id, ()) if seen >= generation]
        yield max(0.0, min(times) - at) if times else None


def measure_idle(asked, requests):
    def work(url, bus, files):
        jobs = [(wait, file, asked.polling, asked.seconds) for file in files]
        jobs.append((send_reports, bus, asked.hosts, asked.interval, requests, asked.seconds))
        with worker_processes.crew(play, jobs) as crew:
            database = meters.ServerMeter(asked.db, sa.make_url(url).database)
            broker = meters.ServerMeter("rabbitmq")
            crew.go_on()
            *spent, reports = crew.wait()
            servers = database.spent(), broker.spent()
            crew.go_on()
        _check_all_reported(url, asked.hosts)
        return spent, reports, servers

    spent, reports, (database, broker) = measure(asked, work)
    whole = asked.seconds + 2 * _SETTLE
    return {
        "reports/s": round(reports / whole, 1),
        "requests/s": requests,
        "ms/s scheduler": round(1e3 * sum(spent) / asked.seconds / len(spent), 1),
        "ms/s database": round(1e3 * database / whole, 1),
        "ms/s broker": round(1e3 * broker / whole, 1),
    }


def _check_all_reported(url, hosts):
    database = Database(url)
    with database.read() as session:
        reported = models.hosts.c.report_version.is_not(None)
        count = session.scalar(sa.select(sa.func.count()).where(reported))
    database.close()
    assert count == hosts, f"{count} of {hosts} hosts have reported"


def main():
    asked = _arguments()
    how = "polling" if asked.polling else "fed"
    before = meters.spin()
    if asked.what == "delay":
        cases = [(20, 1), (0, 8)] if asked.callers is None else [(asked.rate, asked.callers)]
        rows = [measure_delay(asked, *case) for case in cases]
    else:
        rows = [measure_idle(asked, requests) for requests in asked.requests]
    spins = f"{1e3 * before:.1f} to {1e3 * meters.spin():.1f} ms"
    meters.table(f"{asked.what}: {asked.hosts:,} hosts, {asked.db}, {how}; spin {spins}", rows)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["delay", "idle"])
    parser.add_argument("--db", default="postgresql")
    parser.add_argument("--schedulers", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--polling", action="store_true")
    parser.add_argument("--rate", type=float, default=0, help="claims/s; 0: as many as it can")
    parser.add_argument("--callers", type=int, help="threads of each scheduler")
    parser.add_argument("--interval", type=float, default=30.0, help="s between a host's reports")
    parser.add_argument("--requests", type=float, nargs="*", default=[0, 1], help="per second")
    return parser.parse_args()


if __name__ == "__main__":
    main()
