"""What transactions cost on PostgreSQL and MariaDB, and that they are whole, with each driver."""

import datetime

import pymysql.connections
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost.db.cell import identity
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.db.types import database_now
from tests.builders import CELL1
from tests.integration.real_databases import kept_in_mariadb, kept_in_postgresql

__all__ = ["kept_in_mariadb", "kept_in_postgresql"]
NAMES = sa.select(cell_models.identity.c.cell_name)
COUNTS = ("Com_begin", "Com_commit", "Com_rollback")


@pytest.fixture(params=["postgresql+psycopg", "postgresql+psycopg2", "mysql+pymysql"])
def database(request):
    """An empty database whose transactions all go by one connection."""
    kind = "mariadb" if request.param.startswith("mysql") else "postgresql"
    kept = request.getfixturevalue(f"kept_in_{kind}").get("cost", cell_models.metadata)
    with kept.begin() as session:
        session.execute(sa.delete(cell_models.identity))
    url = sa.make_url(kept.url).set(drivername=request.param)
    one = Database(url.render_as_string(hide_password=False), connections=1)
    one.now()  # it has read the clock
    yield one
    one.close()


def rename(session, name):
    identity.set_identity(session, cell_uuid=CELL1, cell_name=name)


def fail(database, do):
    with database.begin() as session:
        rename(session, "undone")
        do(session)


def counts(database):
    """Return how often the only connection has begun, committed and rolled back; None: unknown."""
    if database.engine.dialect.name == "postgresql":
        return None
    with database.read() as session:
        rows = session.execute(sa.text("SHOW SESSION STATUS LIKE 'Com_%'"))
        return {name: int(value) for name, value in rows if name in COUNTS}


def is_in_transaction(session):
    connection = session.connection.dbapi_connection
    if session.dialect.name == "postgresql":
        return connection.info.transaction_status != 0
    return bool(session.execute(sa.text("SELECT @@in_transaction")).scalar_one())


def test_reads_begin_no_transaction_and_no_rollback_follows_a_commit(database):
    before = counts(database)
    for number in range(3):
        with database.begin() as session:
            rename(session, f"cell{number}")
            assert is_in_transaction(session)
        with database.read() as session:
            assert session.scalar(NAMES) == f"cell{number}"
            assert not is_in_transaction(session)
    if before is not None:
        grown = {name: after - before[name] for name, after in counts(database).items()}
        assert grown == {"Com_begin": 3, "Com_commit": 3, "Com_rollback": 0}


@pytest.mark.parametrize("database", ["mysql+pymysql"], indirect=True)
def test_columns_of_mariadb_are_described_once_and_their_times_read_as_before(database):
    times = "TIMESTAMP '2026-11-29 09:30:00.000005' AS a, TIMESTAMP '2026-11-29 09:30:00' AS b"
    query = sa.text(f"SELECT {times}, CAST('0000-00-00 00:00:00' AS DATETIME) AS c")
    with database.read() as session:
        rows = [session.execute(query).one() for _ in range(2)]
    moment = datetime.datetime(2026, 11, 29, 9, 30)  # noqa: DTZ001 - as drivers return it
    assert rows == [(moment.replace(microsecond=5), moment, rows[0].c)] * 2
    assert not isinstance(rows[0].c, datetime.datetime)
    described = pymysql.connections.FieldDescriptorPacket.cache_info()
    with database.read() as session:
        session.execute(query)
    again = pymysql.connections.FieldDescriptorPacket.cache_info()
    assert (again.misses, again.hits) == (described.misses, described.hits + 3)


def test_a_transaction_that_fails_is_undone_and_the_next_one_is_not(database):
    with database.begin() as session:
        rename(session, "before")
    with pytest.raises(ZeroDivisionError):
        fail(database, lambda _session: 1 / 0)
    assert database.query(lambda session: session.scalar(NAMES)) == "before"
    with database.begin() as session:
        rename(session, "after")
    assert database.query(lambda session: session.scalar(NAMES)) == "after"


def test_what_is_not_committed_yet_is_seen_by_nobody_else(database):
    with database.begin() as session:
        rename(session, "before")
    with database.begin() as session:
        rename(session, "later")
        other = Database(database.url, connections=1)
        assert other.query(lambda session: session.scalar(NAMES)) == "before"
        other.close()


def test_a_transaction_that_a_statement_has_broken_is_undone_whole(database):
    wrong = sa.text("SELECT nothing_of_this_name")
    with pytest.raises((sa.exc.DBAPIError, db_exception.DBError)):
        fail(database, lambda session: session.execute(wrong))
    with database.read() as session:
        assert session.scalar(NAMES) is None
        assert session.scalar(sa.select(database_now())) is not None
