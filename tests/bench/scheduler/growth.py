"""What grows with the number of hosts: time, memory, the first answer, and looking for changes."""

import functools
import gc

import psutil
import sqlalchemy as sa

from roost import conf
from roost.context import admin_context
from roost.db.engine import Database
from roost.db.scheduler import models
from roost.db.types import database_now
from roost.scheduler import plugins
from roost.scheduler.table import HostTable
from tests.bench import meters, worker_processes
from tests.bench.scheduler import engine_alone, fleet, with_database
from tests.builders import a_spec, a_uuid

CHANGED = 1000  # hosts


def bench(kind, counts, *, seconds, plot=None):
    """Print a row per number of hosts; draw them, if asked."""
    rows = []
    with with_database.database_of(kind) as url:
        for count in counts:
            database = Database(url)
            fleet.in_database(database, count)
            database.close()
            found = {"hosts": count}
            for measure in (decide, answer_first, remember, look):
                found |= worker_processes.alone(measure, url, count, seconds)
            rows.append(found)
    meters.table(f"Growth, {kind}; a look is for {CHANGED:,} changed hosts", rows)
    if plot:
        _draw(plot, rows)


def decide(pipe, _url, count, seconds):
    """The engine alone."""
    driver, hosts = plugins.load_driver(conf.of({}).scheduler), fleet.in_memory(count)
    worker_processes.begin(pipe)
    costs = {}
    for alternates in (0, 2):
        requests = engine_alone.plain(alternates)
        spent = meters.repeat(
            lambda: driver.decide(next(requests), hosts),  # noqa: B023
            seconds=seconds,
        )
        costs[f"decide us, {alternates} alt."] = round(spent.microseconds)
    worker_processes.finish(pipe, costs)


def answer_first(pipe, url, _count, _seconds):
    """From a scheduler that knows nothing to its first answer, and what is usual then."""
    database = Database(url)
    manager, context = with_database.make_manager(database), admin_context()

    def select():
        manager.select_destinations(
            context, request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=2
        )

    with database.read() as session:
        session.execute(sa.text("SELECT 1"))
    worker_processes.begin(pipe)
    first, *later = [meters.once(select).wall for _ in range(11)]
    usual = meters.percentile(later, 50)
    worker_processes.finish(
        pipe, {"first answer s": round(first, 2), "then ms": round(1e3 * usual, 1)}
    )
    database.close()


def remember(pipe, url, count, _seconds):
    """The memory that hosts take, once they are read and requests of sixteen kinds were seen."""
    database = Database(url)
    table = HostTable(silence=with_database.SILENCE, now=database.now)
    driver = plugins.load_driver(conf.of({}).scheduler)
    with database.read() as session:
        session.execute(sa.text("SELECT 1"))
    worker_processes.begin(pipe)
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    with database.read() as session:
        table.look(session)
    gc.collect()
    read = process.memory_info().rss
    requests = engine_alone.plain(0)
    for _ in range(16):
        driver.decide(next(requests), table.hosts)
    ranked = process.memory_info().rss
    worker_processes.finish(
        pipe,
        {
            "bytes/host": round((read - before) / count),
            "with 16 rankings": round((ranked - before) / count),
        },
    )
    database.close()


def look(pipe, url, count, _seconds):
    """Looking for changes: when there are none, in usage, and in what hosts say of themselves."""
    database, hosts = Database(url), models.hosts.c
    table = HostTable(silence=with_database.SILENCE, now=database.now)
    with database.read() as session:
        table.look(session)
    worker_processes.begin(pipe)
    change = functools.partial(_change, database, min(count, CHANGED))
    used = {"generation": hosts.generation + 1, "instances_used": hosts.instances_used + 1}
    described = used | {"described": hosts.described + 1}
    found = {
        "look ms": _look(database, table, change=lambda: None),
        "used ms": _look(database, table, change=lambda: change(**used)),
        "described ms": _look(database, table, change=lambda: change(**described)),
    }
    worker_processes.finish(pipe, found)
    database.close()


def _look(database, table, *, change):
    """Return the milliseconds of CPU that a look takes, of three the least."""
    costs = []
    for _ in range(3):
        change()
        with database.read() as session:
            costs.append(meters.once(lambda: table.look(session)).cpu)
    return round(1e3 * min(costs), 1)


def _change(database, count, **values):
    with database.begin() as session:
        session.execute(
            sa.update(models.hosts)
            .where(models.hosts.c.id <= count)
            .values(touched_at=database_now(), **values)
        )


def _draw(path, rows):
    from matplotlib.figure import Figure

    hosts = [row["hosts"] for row in rows]
    figure = Figure(figsize=(10, 8), layout="constrained")
    for axes, columns, title in zip(
        figure.subplots(2, 2).flat,
        (
            ("decide us, 0 alt.", "decide us, 2 alt."),
            ("first answer s",),
            ("bytes/host", "with 16 rankings"),
            ("look ms", "used ms", "described ms"),
        ),
        ("CPU us of a decision", "s to the first answer", "bytes per host", "CPU ms of a look"),
        strict=True,
    ):
        for column in columns:
            axes.plot(hosts, [row[column] for row in rows], "o-", label=column)
        axes.set_xscale("log")
        axes.set_xlabel("hosts")
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        axes.legend()
    figure.savefig(path)
