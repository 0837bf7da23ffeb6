"""Everything that goes over a wire can go through TLS, and nobody else is believed."""

import pathlib
import tempfile

import pytest
import sqlalchemy as sa

from roost import conf, exception
from roost.db.engine import Database
from roost.rig.services.mariadb import MariaDB
from roost.rig.services.postgresql import PostgreSQL
from roost.rpc import interface
from roost.rpc.transport import Bus
from tests.builders import a_context
from tests.fakes.tls import Authority, Terminator


class Echo(interface.Interface):
    topic = "echo"
    version = "1.0"

    @interface.call(since="1.0", timeout=20)
    def say(self, context, *, number: int) -> int: ...

    @interface.cast(since="1.0")
    def note(self, context) -> None: ...


class Manager:
    def say(self, context, *, number):
        return number

    def note(self, context):
        """Nobody comes as far as this."""


@pytest.fixture(scope="module")
def authority():
    with tempfile.TemporaryDirectory(prefix="roost-authority-") as folder:
        pathlib.Path(folder).chmod(0o755)  # servers of other accounts read their certificates there
        yield Authority(pathlib.Path(folder))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """An authority that has vouched for nobody here."""
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def secret_bus(rabbitmq, rabbitmq_url, authority):
    """The URL of a virtual host behind TLS, and what stands before it."""
    address = rabbitmq.address
    terminator = Terminator((address.host, address.port), authority.context())
    before, after = f"@{address.host}:{address.port}/", f"@127.0.0.1:{terminator.port}/"
    yield rabbitmq_url.replace(before, after), terminator
    terminator.close()


@pytest.fixture
def trusting(tmp_path):
    """Make options, as an operator writes them, that trust an authority for buses."""

    def make(authority):
        file = tmp_path / "roost.conf"
        file.write_text(f"[oslo_messaging_rabbit]\nssl = True\nssl_ca_file = {authority.ca}\n")
        return conf.load([f"--config-file={file}"], prog="test")

    return make


def test_a_bus_is_used_through_tls(secret_bus, authority, trusting):
    url, terminator = secret_bus
    bus = Bus(trusting(authority), url)
    server = bus.server(Echo, Manager(), "h1")
    server.start(1)
    bus.expect_replies()
    assert Echo(bus).on("h1").say(a_context(), number=7) == 7
    assert terminator.heard >= 2
    server.stop()
    server.wait()
    bus.close()


def test_a_bus_that_nobody_vouches_for_is_not_spoken_to(secret_bus, stranger, trusting):
    url, terminator = secret_bus
    bus = Bus(trusting(stranger), url)
    with pytest.raises(exception.Unavailable, match="certificate"):
        Echo(bus).on("h1").note(a_context())
    assert terminator.heard == 0
    bus.close()


@pytest.fixture(scope="module")
def secret_postgresql(tmp_path_factory, authority):
    certificate, key = authority.files_for("postgres")
    options = ["--ssl=on", f"--ssl_cert_file={certificate}", f"--ssl_key_file={key}"]
    server = PostgreSQL.start(tmp_path_factory.mktemp("postgresql"), *options)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def secret_mariadb(tmp_path_factory, authority):
    certificate, key = authority.files_for("mysql")
    options = [f"--ssl-cert={certificate}", f"--ssl-key={key}"]
    server = MariaDB.start(tmp_path_factory.mktemp("mariadb"), *options)
    yield server
    server.stop()


def ask(url, question):
    database = Database(url, connections=1)
    try:
        with database.read() as session:
            return session.execute(sa.text(question)).first()
    finally:
        database.close()


def test_postgresql_is_used_through_tls(secret_postgresql, authority):
    url = secret_postgresql.url("postgres") + f"?sslmode=verify-full&sslrootcert={authority.ca}"
    (encrypted,) = ask(url, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert encrypted


def test_mariadb_is_used_through_tls(secret_mariadb, authority):
    url = secret_mariadb.url("mysql") + f"?ssl_ca={authority.ca}"
    _name, cipher = ask(url, "SHOW STATUS LIKE 'Ssl_cipher'")
    assert cipher


@pytest.mark.parametrize(
    ("server", "database", "query"),
    [
        ("secret_postgresql", "postgres", "sslmode=verify-full&sslrootcert"),
        ("secret_mariadb", "mysql", "ssl_ca"),
    ],
)
def test_a_database_that_nobody_vouches_for_is_not_used(request, stranger, server, database, query):
    url = request.getfixturevalue(server).url(database) + f"?{query}={stranger.ca}"
    with pytest.raises(exception.Unavailable, match=r"(?i)certificate"):
        ask(url, "SELECT 1")
