"""A primary becomes a standby while everybody writes: real servers are made read-only, and back."""

import concurrent.futures
import contextlib
import threading

import pytest
import sqlalchemy as sa

from roost import exception
from roost.db.engine import Database, retried
from roost.db.insert import insert_once
from roost.rig import services

NUMBERS = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer, primary_key=True))
WRITERS = 4
SOME = 25  # things that each writer makes before the failover, and at least as many after it
PATIENCE = 60  # seconds


class Cluster:
    """A database server that can be made read-only, and its databases."""

    def __init__(self, server):
        self.server = server
        self.databases = {}
        self._administrator = sa.create_engine(
            server.url(server.own_database), isolation_level="AUTOCOMMIT"
        )

    def create(self, metadata):
        """Return a database for a user who may change rows."""
        name = services.unique_name("failover")
        maker = Database(self.server.create_database(name))
        metadata.create_all(maker.engine)
        maker.close()
        self.databases[name] = Database(self._url(name), connections=WRITERS + 2)
        return self.databases[name]

    def close(self):
        self.promote()
        for name, database in self.databases.items():
            database.close()
            self.server.drop_database(name)
        self._administrator.dispose()

    def _url(self, name):
        return self.server.url(name)

    def _tell(self, *statements):
        with self._administrator.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


class PostgreSQL(Cluster):
    """Who connects while it is a standby stays with one: as when a name leads elsewhere later."""

    def demote(self):
        for name in self.databases:
            self._tell(
                f"ALTER DATABASE {name} SET default_transaction_read_only = on",
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
            )

    def promote(self):
        for name in self.databases:
            self._tell(f"ALTER DATABASE {name} RESET default_transaction_read_only")


class MariaDB(Cluster):
    def demote(self):
        self._tell("SET GLOBAL read_only = 1")

    def promote(self):
        self._tell("SET GLOBAL read_only = 0")

    def _url(self, name):
        """Return it for a user whom read_only stops, as it does not stop root."""
        user = f"u{name[-12:]}"
        self.server.create_user(user, "pw")
        self.server.close_database(name, [user])
        url = sa.make_url(self.server.url(name)).set(username=user, password="pw")
        return url.render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def postgresql_cluster(postgresql):
    with contextlib.closing(PostgreSQL(postgresql)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def mariadb_cluster(tmp_path_factory):
    """A server of its own, as it is read-only for everybody."""
    server = services.MariaDB.start(tmp_path_factory.mktemp("mariadb"))
    with contextlib.closing(MariaDB(server)) as cluster:
        yield cluster
    server.stop()


@pytest.fixture(params=["postgresql_cluster", "mariadb_cluster"])
def cluster(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def refused(monkeypatch):
    """Is set once a server has said that it takes no writes."""
    event, made = threading.Event(), exception.ReadOnly.__init__

    def note(self, *args, **more):
        event.set()
        made(self, *args, **more)

    monkeypatch.setattr(exception.ReadOnly, "__init__", note)
    return event


def under_load(cluster, refused, make):
    """Let several make things, before and after a failover; return what each answered.

    :param make: takes a number that nobody else gets, from 1 on
    """
    written, over = threading.Semaphore(0), threading.Event()

    def write(first):
        answers = []
        for number in range(first, first + 10_000):
            answers.append(make(number))
            written.release()
            if over.is_set() and len(answers) >= 2 * SOME:
                break
        return answers

    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        asked = [pool.submit(write, 1 + 10_000 * writer) for writer in range(WRITERS)]
        try:
            for _ in range(WRITERS * SOME):
                assert written.acquire(timeout=PATIENCE)
            cluster.demote()
            assert refused.wait(PATIENCE)
        finally:
            cluster.promote()
            over.set()
        return [answer for each in asked for answer in each.result(PATIENCE)]


def test_steps_outlive_a_failover_and_happen_once(cluster, refused):
    database = cluster.create(NUMBERS.metadata)

    @retried
    def step(number):
        with database.begin() as session:
            insert_once(session, NUMBERS, {"n": number})
        return number

    done = under_load(cluster, refused, step)

    with database.read() as session:
        assert sorted(session.scalars(sa.select(NUMBERS))) == sorted(done)


def test_a_connection_that_leads_to_a_standby_is_thrown_away(cluster):
    database = cluster.create(NUMBERS.metadata)
    own = "pg_backend_pid()" if cluster.server.kind == "postgresql" else "connection_id()"
    cluster.demote()
    with database.begin() as session:
        before = session.exec_driver_sql(f"SELECT {own}").scalar()
        with pytest.raises(exception.ReadOnly), database.begin() as other:
            other.execute(sa.insert(NUMBERS), {"n": 1})
    cluster.promote()
    with database.begin() as session:  # the other one of the pool leads there, too
        assert session.exec_driver_sql(f"SELECT {own}").scalar() != before
        session.execute(sa.insert(NUMBERS), {"n": 1})
