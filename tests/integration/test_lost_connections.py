"""What steps notice of a database that drops connections, refuses users or falls silent."""

import concurrent.futures
import contextlib
import time
import uuid

import pytest
import sqlalchemy as sa

from roost import exception
from roost.circuit_breaker import CircuitBreaker
from roost.db.engine import Database, retried
from roost.db.guarded import GuardedDatabase

NUMBERS = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer, primary_key=True))


@pytest.fixture
def database(database_url):
    database = Database(database_url, connections=4)
    NUMBERS.create(database.engine)
    yield database
    database.close()


@pytest.fixture
def hasty(database_url):
    """The same database, for those who wait two seconds at most."""
    database = Database(database_url, connections=1, answer_timeout=2)
    yield database
    database.close()


def is_postgresql(database):
    return database.engine.dialect.name == "postgresql"


def own_connection(database, session):
    own = "pg_backend_pid" if is_postgresql(database) else "connection_id"
    return session.exec_driver_sql(f"SELECT {own}()").scalar()


def cut(database, connection):
    """Let the server drop a connection, as one that stops would."""
    killer = Database(database.url, connections=1)
    kill = "SELECT pg_terminate_backend({})" if is_postgresql(database) else "KILL {}"
    with killer.begin() as session:
        session.exec_driver_sql(kill.format(connection))
    killer.close()


def assert_lost(database, step):
    with pytest.raises(exception.Lost), database.begin() as session:
        step(session)


def numbers(database):
    with database.read() as session:
        return sorted(session.scalars(sa.select(NUMBERS)))


def test_a_connection_that_breaks_in_a_transaction_is_told_as_lost(database):
    def step(session):
        session.execute(sa.insert(NUMBERS), {"n": 1})
        cut(database, own_connection(database, session))
        session.execute(sa.insert(NUMBERS), {"n": 2})

    assert_lost(database, step)
    assert numbers(database) == []


def test_a_connection_that_breaks_before_the_commit_is_told_as_lost(database):
    def step(session):
        session.execute(sa.insert(NUMBERS), {"n": 1})
        cut(database, own_connection(database, session))

    assert_lost(database, step)
    assert numbers(database) == []


def test_a_step_whose_connection_breaks_is_done_again(database):
    tries = []

    @retried
    def step():
        with database.begin() as session:
            tries.append(own_connection(database, session))
            if len(tries) <= 2:
                cut(database, tries[-1])
            session.execute(sa.insert(NUMBERS), {"n": 1})

    step()
    assert (len(tries), numbers(database)) == (3, [1])


def test_nobody_notices_that_idle_connections_were_dropped(database):
    with contextlib.ExitStack() as opened:
        sessions = [opened.enter_context(database.read()) for _ in range(3)]
        connections = [own_connection(database, session) for session in sessions]
    for connection in connections:
        cut(database, connection)
    time.sleep(0.6)  # by then they are no longer taken for alive
    for _ in range(4):
        assert numbers(database) == []


def test_what_others_commit_is_seen_at_once(database):
    with database.read() as session:
        assert list(session.scalars(sa.select(NUMBERS))) == []
        with database.begin() as other:
            other.execute(sa.insert(NUMBERS), {"n": 1})
        assert list(session.scalars(sa.select(NUMBERS))) == [1]


def test_a_statement_that_takes_too_long_is_ended_by_the_server(hasty):
    sleep = "SELECT pg_sleep(30)" if is_postgresql(hasty) else "SELECT SLEEP(30)"
    begun, ended = time.monotonic(), None
    try:
        with hasty.begin() as session:
            session.exec_driver_sql(sleep)  # MariaDB only wakes it up
    except exception.Unfinished as error:
        ended = error
    assert ended is not None or not is_postgresql(hasty)
    assert time.monotonic() - begun < 20


def cancelled(database, session):
    """Let the server cancel a statement, as an administrator would."""
    if is_postgresql(database):
        session.exec_driver_sql("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(30)")
    else:
        endless = "SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b"
        session.exec_driver_sql(f"SET STATEMENT max_statement_time=0.2 FOR {endless}")


def full(database, session):
    """Let the server say that a disk is full."""
    if is_postgresql(database):
        session.exec_driver_sql("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$")
    else:
        said = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'"
        session.exec_driver_sql(f"BEGIN NOT ATOMIC {said}; END")


@pytest.mark.parametrize("fail", [cancelled, full])
def test_a_server_that_cannot_do_one_thing_is_there_for_others(database, fail):
    with guarded(database) as (breaker, watched):
        with (
            pytest.raises((exception.Unfinished, sa.exc.DBAPIError)),
            watched.read() as session,
        ):
            fail(database, session)
        assert not breaker.is_open
        assert numbers(watched) == []


def test_a_server_whose_connections_break_is_held_to_be_away(database):
    with guarded(database) as (breaker, watched):
        assert_lost(watched, lambda session: cut_itself(database, session))
        assert breaker.is_open


def cut_itself(database, session):
    cut(database, own_connection(database, session))
    session.execute(sa.select(NUMBERS))


@contextlib.contextmanager
def guarded(database):
    """Return the database behind a breaker that stays open once it is."""
    breaker = CircuitBreaker("cell", lambda: None, spawn=lambda _look: None)
    yield breaker, GuardedDatabase(database, breaker)
    breaker.close()


def test_a_server_that_falls_silent_is_given_up(hasty):
    """As one behind a network that swallows everything: it does not even end the statement."""
    endless, sleep = (
        ("SET statement_timeout = 0", "SELECT pg_sleep(30)")
        if is_postgresql(hasty)
        else ("SET max_statement_time = 0", "SELECT SLEEP(30)")
    )

    def step(session):
        session.exec_driver_sql(endless)
        session.exec_driver_sql(sleep)

    begun = time.monotonic()
    assert_lost(hasty, step)
    assert time.monotonic() - begun < 20
    with hasty.read() as session:
        assert session.exec_driver_sql("SELECT 1").scalar() == 1


def test_who_falls_asleep_in_a_transaction_keeps_nobody_waiting(database, hasty):
    def step(session):
        session.execute(sa.insert(NUMBERS), {"n": 1})
        with database.begin() as other:  # waits for the sleeper's row
            other.execute(sa.insert(NUMBERS), {"n": 1})
        session.execute(sa.insert(NUMBERS), {"n": 2})

    assert_lost(hasty, step)
    assert numbers(database) == [1]


@pytest.fixture
def cramped(database):
    """The same server, for a user who may have one connection at a time."""
    name = "u" + uuid.uuid4().hex[:10]
    if is_postgresql(database):
        make = [f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 1"]
    else:
        make = [f"CREATE USER {name}@'%%' WITH MAX_USER_CONNECTIONS 1"]
        make.append(f"GRANT USAGE ON *.* TO {name}@'%%'")
    with database.begin() as session:
        for statement in make:
            session.exec_driver_sql(statement)
    url = sa.make_url(database.url).set(username=name, database=_everybodys(database))
    cramped = Database(url.render_as_string(hide_password=False), connections=2)
    yield cramped
    cramped.close()
    with database.begin() as session:
        session.exec_driver_sql(f"DROP {'ROLE' if is_postgresql(database) else 'USER'} {name}")


def _everybodys(database):
    return "postgres" if is_postgresql(database) else "information_schema"


def test_a_server_that_takes_no_more_connections_is_waited_for(cramped):
    def ask():
        with cramped.read() as session:
            return session.exec_driver_sql("SELECT 1").scalar()

    with cramped.read() as session:
        session.exec_driver_sql("SELECT 1")
        with pytest.raises(exception.Full):
            ask()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(retried(ask))
            time.sleep(0.5)
            assert not asked.done()
            session.rollback()
            session.invalidate()  # the one connection is free for others
            assert asked.result(timeout=10) == 1


@pytest.fixture
def own_user(database, database_server):
    """A user of the test's own, who may only read, and the database for that user."""
    name = "u" + uuid.uuid4().hex[:10]
    database_server.create_user(name, "secret")
    alter(database, "GRANT SELECT ON numbers TO {user}", name)
    url = sa.make_url(database.url).set(username=name, password="secret")
    reader = Database(url.render_as_string(hide_password=False), connections=1)
    yield name, reader
    reader.close()
    if is_postgresql(database):
        alter(database, "DROP OWNED BY {user}", name)
    database_server.drop_user(name)


def alter(database, statement, name):
    """Run a statement about a user as the owner of the database."""
    user = name if is_postgresql(database) else f"{name}@'%%'"
    with database.begin() as session:
        session.exec_driver_sql(statement.format(user=user, name=session.engine.url.database))


REFUSALS = [
    ("postgresql", "ALTER ROLE {user} NOLOGIN"),
    ("postgresql", "REVOKE CONNECT ON DATABASE {name} FROM PUBLIC"),
    ("mariadb", "ALTER USER {user} ACCOUNT LOCK"),
    ("mariadb", "ALTER USER {user} PASSWORD EXPIRE"),
    ("mariadb", "REVOKE ALL, GRANT OPTION FROM {user}"),
    ("mariadb", "DROP USER {user}"),
]


@pytest.mark.parametrize(("database_server", "refusal"), REFUSALS, indirect=["database_server"])
def test_a_server_that_refuses_our_user_is_held_to_be_away(database, own_user, refusal):
    name, reader = own_user
    assert numbers(reader) == []
    alter(database, refusal, name)
    reader.renew()
    with guarded(reader) as (breaker, watched):
        with pytest.raises(exception.Unavailable, match=name) as caught:
            numbers(watched)
        assert breaker.is_open
    assert len(caught.value.message.splitlines()) == 1
    assert "secret" not in caught.value.message


def test_a_user_who_may_not_do_one_thing_may_do_others(database, own_user):
    _, reader = own_user
    with guarded(reader) as (breaker, watched):
        with pytest.raises(exception.Unfinished, match="denied"), watched.begin() as session:
            session.execute(sa.delete(NUMBERS))
        assert not breaker.is_open
        assert numbers(watched) == []
