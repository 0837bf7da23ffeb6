"""What an audit of a large deployment costs: seconds and memory.

    python -m tests.bench.bench_audit --postgresql postgresql+psycopg://postgres@127.0.0.1 -n 100000

Makes databases of its own, fills them by SQL with instances that everybody agrees about, damages a
few, audits, and drops the databases. The scheduler answers in this process; no host is asked.
"""

import argparse
import contextlib
import resource
import time

from roost import concurrency

concurrency.select([])

import sqlalchemy as sa

from roost import audit, conf
from roost.cells import Cells
from roost.db.api import cells as cell_rows
from roost.db.api import models as api_models
from roost.db.cell import instances
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.db.scheduler import models as scheduler_models
from roost.objects import CellMapping
from roost.rig.services import unique_name
from roost.scheduler import plugins
from roost.scheduler.client import SchedulerClient
from roost.scheduler.manager import SchedulerManager
from roost.servicegroup.db import DatabaseGroup
from tests.builders import NOW, a_context, a_report, a_uuid, an_instance

HOSTS = 1000
DAMAGED = 50
UUID = "md5('server' || n)::uuid::text"
# what so many servers have of their host
HELD = (
    "json_build_object('', json_build_object("
    "'VCPU', {0}, 'MEMORY_MB', 512 * {0}, 'DISK_GB', {0}))::text"
)


class Schedulers(SchedulerManager):
    all_claims = SchedulerClient.all_claims

    def check(self, context):
        pass


def main():
    asked = _arguments()
    with contextlib.ExitStack() as made:
        cells, databases = _databases(asked, made)
        _fill(asked.instances, cells, databases)
        driver = plugins.load_driver(conf.of({}).scheduler)
        collector = audit.Collector(
            databases["api"],
            Cells(databases["api"], make_database=_known(databases), make_bus=lambda _url: None),
            Schedulers(databases["scheduler"], driver=driver),
            group=DatabaseGroup(down_time=60),
        )
        _look(collector, "agreed")
        with databases["cell1"].begin() as session:
            session.exec_driver_sql(
                "DELETE FROM instances WHERE id IN (SELECT id FROM instances ORDER BY uuid"
                f" LIMIT {DAMAGED})"
            )
        _look(collector, f"{DAMAGED} lost rows")


def _look(collector, what):
    begun, before = time.monotonic(), _memory()
    report = audit.audit(collector, settle=0.001)
    found = {kind: count for kind, count in report.counts.items() if count}
    print(
        f"{what}: {time.monotonic() - begun:.1f} s, {_memory() - before:.0f} MB more than the"
        f" {before:.0f} MB before; found {found}"
    )


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _databases(asked, made):
    cells = {f"cell{number}": a_uuid() for number in range(1, asked.cells + 1)}
    kinds = {"api": api_models, "scheduler": scheduler_models, **dict.fromkeys(cells, cell_models)}
    return cells, {name: _database(asked, made, models) for name, models in kinds.items()}


def _database(asked, made, models):
    name = unique_name("bench")
    server = sa.create_engine(f"{asked.postgresql}/postgres", isolation_level="AUTOCOMMIT")
    with server.connect() as session:
        session.exec_driver_sql(f"CREATE DATABASE {name}")
    made.callback(_drop, server, name)
    database = Database(f"{asked.postgresql}/{name}", connections=4, answer_timeout=3600)
    made.callback(database.close)
    models.metadata.create_all(database.engine)
    return database


def _drop(server, name):
    with server.connect() as session:
        session.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def _known(databases):
    by_url = {database.url: database for database in databases.values()}
    return by_url.get


def _fill(count, cells, databases):
    for number, (name, uuid) in enumerate(cells.items()):
        mapping = CellMapping.of(
            uuid=uuid,
            name=name,
            transport_url=f"fake://{name}/",
            database_url=databases[name].url,
            disabled=False,
        )
        with databases["api"].begin() as session:
            cell_rows.create(session, mapping)
        with databases[name].begin() as session:
            instances.create(session, an_instance(vm_state="active", task_state=None))
            told = {
                "uuid": UUID,
                "host": f"'h' || mod(n, {HOSTS})",
                "node": f"'h' || mod(n, {HOSTS})",
            }
            _copy(session, cell_models.instances, told, f"mod(n, {len(cells)}) = {number}", count)
    _fill_api(databases["api"], list(cells.values()), count)
    _fill_scheduler(databases["scheduler"], count)
    for database in databases.values():
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
            session.exec_driver_sql("ANALYZE")


def _fill_api(database, cells, count):
    cell = "CASE " + " ".join(
        f"WHEN mod(n, {len(cells)}) = {number} THEN '{uuid}'" for number, uuid in enumerate(cells)
    )
    with database.begin() as session:
        session.exec_driver_sql(
            "INSERT INTO instance_mappings (instance_uuid, request_uuid, cell_uuid, project_id,"
            " user_id, vcpus, memory_mb, queued_for_delete, created_at)"
            f" SELECT {UUID}, {UUID}, {cell} END, 'p' || mod(n, 100), 'u', 1, 512, false, now()"
            f" FROM generate_series(1, {count}) AS n"
        )
        session.exec_driver_sql(
            "INSERT INTO quota_usages (project_id, instances, cores, ram, server_groups)"
            " SELECT project_id, count(*), sum(vcpus), sum(memory_mb), 0 FROM instance_mappings"
            " GROUP BY project_id"
        )


def _fill_scheduler(database, count):
    driver = plugins.load_driver(conf.of({}).scheduler)
    manager = Schedulers(database, driver=driver, clock=lambda: NOW)
    manager.update_resource_stats(a_context(), report=a_report("template"))
    with database.begin() as session:
        _copy(session, scheduler_models.hosts, {"host": "'h' || n", "node": "'h' || n"}, "", HOSTS)
        session.exec_driver_sql("UPDATE hosts SET host = 'h0', node = 'h0' WHERE host = 'h1000'")
        session.exec_driver_sql(
            "INSERT INTO claims (instance_uuid, host_id, number, allocations, state, created_at)"
            f" SELECT {UUID}, hosts.id, 0, {HELD.format(1)}, 'confirmed', now()"
            f" FROM generate_series(1, {count}) AS n JOIN hosts ON host = 'h' || mod(n, {HOSTS})"
        )
        session.exec_driver_sql(
            f"UPDATE hosts SET used = {HELD.format('c')}, instances_used = c"
            " FROM (SELECT host_id, count(*) AS c FROM claims GROUP BY host_id)"
            " AS sums WHERE sums.host_id = hosts.id"
        )


def _copy(session, table, changed, condition, count):
    """Copy the only row of a table many times, with some columns that depend on ``n``."""
    columns = [column.name for column in table.c if column.name != "id"]
    values = [changed.get(name, f'one."{name}"') for name in columns]
    quoted = ", ".join(f'"{name}"' for name in columns)
    session.exec_driver_sql(
        f"INSERT INTO {table.name} ({quoted}) SELECT {', '.join(values)} FROM {table.name} AS one,"
        f" generate_series(1, {count}) AS n" + (f" WHERE {condition}" if condition else "")
    )
    session.exec_driver_sql(
        f"DELETE FROM {table.name} WHERE id = (SELECT min(id) FROM {table.name})"
    )


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--postgresql", default="postgresql+psycopg://postgres@127.0.0.1")
    parser.add_argument("-n", "--instances", type=int, default=100_000)
    parser.add_argument("--cells", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
