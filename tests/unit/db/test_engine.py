"""How databases are reached."""

import sqlite3

import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.db import engine, errors
from roost.db.engine import CONNECT_SECONDS, Database, retried, retried_if_undone


@pytest.mark.parametrize("url", ["postgresql+psycopg://u@127.0.0.1:1/x", "mysql+pymysql://u@h/x"])
def test_nobody_waits_for_ever_for_a_database_that_does_not_answer(url):
    assert Database(url).engine.url.query["connect_timeout"] == str(CONNECT_SECONDS)


def test_a_database_that_is_away_is_named_without_its_password():
    database = Database("postgresql+psycopg://u:secret@127.0.0.1:1/x")
    with pytest.raises(exception.Unavailable, match=r"127\.0\.0\.1:1/x") as caught, database.read():
        pass
    assert "secret" not in caught.value.message


def test_a_reader_does_not_wait_for_the_writer(api_db):
    with api_db.begin(), api_db.read() as session:
        assert session.exec_driver_sql("SELECT 1").scalar() == 1


@pytest.mark.parametrize("end", [Database.close, Database.renew])
def test_no_connection_outlives_the_end_of_its_database(api_db, end):
    """Nor when it is in use just then, as another thread's may be."""
    with api_db.read() as session:
        before = session.connection.dbapi_connection
    with api_db.read() as session:
        used = session.connection.dbapi_connection
        end(api_db)
        assert session.exec_driver_sql("SELECT 1").scalar() == 1
    for connection in (before, used):
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


@pytest.mark.parametrize(("end", "kept"), [(Database.close, False), (Database.renew, True)])
def test_who_comes_late_leaves_nothing_open(api_db, end, kept):
    end(api_db)
    with api_db.read() as session:
        late = session.connection.dbapi_connection
    with api_db.read() as session:
        assert (session.connection.dbapi_connection is late) == kept


class Failing:
    """A step that fails in these ways, one after the other, and then does not."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.tries = 0

    def __call__(self):
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    """Retries that do not wait, but count what they would have waited."""
    clock = [0.0]
    monkeypatch.setattr(engine.time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    monkeypatch.setattr(engine.time, "monotonic", lambda: clock[0])


@pytest.mark.parametrize("kind", [exception.Deadlock, exception.Full])
def test_who_was_in_the_way_of_others_is_run_again_for_some_seconds(kind):
    assert retried(Failing(*[kind()] * 9))() == "done"
    step = Failing(*[kind()] * 999)
    with pytest.raises(kind):
        retried(step)()
    assert step.tries < 100


@pytest.mark.parametrize("kind", [exception.Deadlock, exception.Full, exception.ReadOnly])
def test_what_must_not_happen_twice_is_run_again_if_it_has_not_happened(kind):
    assert retried_if_undone(Failing(*[kind()] * 3))() == "done"
    step = Failing(kind(), exception.Lost())
    with pytest.raises(exception.Lost):
        retried_if_undone(step)()
    assert step.tries == 2


def test_a_step_whose_connection_broke_waits_for_a_server_that_restarts():
    step = Failing(exception.Lost(), *[exception.Unavailable("starting up")] * 9)
    assert retried(step)() == "done"


def test_a_server_that_does_not_come_back_is_given_up():
    step = Failing(exception.Lost(), *[exception.Unavailable("refused")] * 999)
    with pytest.raises(exception.Unavailable, match="refused"):
        retried(step)()
    assert step.tries < 100


def test_a_server_that_was_away_from_the_first_is_not_waited_for():
    step = Failing(exception.Unavailable("refused"))
    with pytest.raises(exception.Unavailable):
        retried(step)()
    assert step.tries == 1


def test_no_other_failure_is_tried_again():
    step = Failing(exception.Deadlock(), exception.Conflict("taken"))
    with pytest.raises(exception.Conflict):
        retried(step)()
    assert step.tries == 2


@pytest.mark.parametrize(
    ("url", "bound"),
    [
        ("postgresql+psycopg://u@h/x", {"tcp_user_timeout": "7000", "keepalives_idle": "3"}),
        ("mysql+pymysql://u@h/x", {"read_timeout": "8", "write_timeout": "8"}),
    ],
)
def test_answers_are_waited_for_as_long_as_one_says(url, bound):
    query = Database(url, connect_timeout=3, answer_timeout=7).engine.url.query
    assert query["connect_timeout"] == "3"
    assert {name: query[name] for name in bound} == bound


def test_a_file_that_another_process_writes_is_busy_not_away(tmp_path):
    path = f"{tmp_path}/busy.sqlite"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
        sqlite3.connect(path, timeout=0).execute("CREATE TABLE t (n)")
    assert errors.is_deadlock(caught.value)
    assert type(errors.meaning(caught.value, name="x", begun=False)) is exception.Deadlock
    writer.close()


def test_data_that_look_like_the_number_of_an_error_break_no_connection():
    """oslo.db looks for 2013 and the like anywhere in what MariaDB says."""
    said = pymysql.err.OperationalError(1292, "Incorrect datetime value: '(2013-13-01' for column")
    wrapped = db_exception.DBConnectionError(sa.exc.OperationalError("INSERT", {}, said))
    assert not errors.is_lost(wrapped)
    assert not errors.is_unreachable(wrapped)


def _of_mariadb(number, said):
    return sa.exc.OperationalError("UPDATE", {}, pymysql.err.OperationalError(number, said))


class _OfPostgreSQL(Exception):
    sqlstate = "25006"


READ_ONLY = [
    _of_mariadb(1290, "The MariaDB server is running with the --read-only option so it cannot"),
    _of_mariadb(1290, "The MySQL server is running with the --super-read-only option so it cannot"),
    _of_mariadb(1290, "... with the READ_ONLY option so it cannot execute this statement"),
    _of_mariadb(1792, "Cannot execute statement in a READ ONLY transaction"),
    _of_mariadb(1836, "Running in read-only mode"),
    sa.exc.InternalError("UPDATE", {}, _OfPostgreSQL("in a read-only transaction")),
]


@pytest.mark.parametrize("wrap", [lambda error: error, db_exception.DBError])
@pytest.mark.parametrize("error", READ_ONLY)
def test_a_server_that_takes_no_writes_is_a_standby_now(error, wrap):
    found = errors.meaning(wrap(error), name="x", begun=True)
    assert type(found) is exception.ReadOnly


@pytest.mark.parametrize(
    "error",
    [
        _of_mariadb(1290, "... with the --secure-file-priv option so it cannot execute this"),
        _of_mariadb(1146, "Table 'x.read_only' doesn't exist"),
    ],
)
def test_what_else_a_server_refuses_is_of_the_askers_doing(error):
    assert errors.meaning(error, name="x", begun=True) is None


# what MySQL alone says: locked, expired, no such plugin of ours; and what nobody says yet
@pytest.mark.parametrize("number", [3118, 1862, 2059, 9999])
def test_before_a_transaction_begins_whatever_a_server_says_it_is_not_there_for_us(number):
    error = _of_mariadb(number, "Access denied for user 'roost'")
    assert type(errors.meaning(error, name="x", begun=False)) is exception.Unavailable
