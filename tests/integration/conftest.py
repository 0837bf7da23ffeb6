"""Real services: private databases, others as found. One that is missing fails the tests."""

import os
import pathlib
import socket

import pytest

from roost import exception
from roost.compute.network.bridge.system import System
from roost.rig import services
from roost.rig.hypervisors import linux_guest, needs
from roost.rig.openstack import packages
from tests.external import pages as outside_pages
from tests.external.glance import Glance
from tests.fakes.libvirtd import Libvirtd
from tests.integration.real_databases import (  # noqa: F401 - fixtures
    kept_in_mariadb,
    kept_in_postgresql,
    server,
)
from tests.integration.redis_server import RedisServer
from tests.parts import second

# Tests that run side by side have private services of their own.
SERVICES = pathlib.Path(__file__).parents[2] / ".services"
STATE = SERVICES / os.environ.get("PYTEST_XDIST_WORKER", "")
OUTSIDE = SERVICES / "outside"  # what is installed once for all


def provide(found_or_started):
    try:
        service = found_or_started(STATE)
    except exception.Unavailable as missing:
        pytest.fail(missing.message, pytrace=False)
    yield service
    service.stop()


@pytest.fixture(scope="session")
def rabbitmq():
    yield from provide(services.RabbitMQ.find_or_start)


@pytest.fixture(scope="session")
def postgresql():
    """One of our own: three clouds at once take more connections than a usual one has."""
    yield from provide(services.PostgreSQL.start)


@pytest.fixture(scope="session")
def mariadb():
    """One of our own, likewise."""
    yield from provide(services.MariaDB.start)


@pytest.fixture(scope="session")
def redis():
    yield from provide(RedisServer.find_or_start)


@pytest.fixture(scope="session")
def openstack_packages():
    """The folder of Keystone, Glance and Neutron; the first test to want it may install them."""
    try:
        return packages.install(OUTSIDE)
    except exception.Unavailable as missing:
        pytest.fail(missing.message, pytrace=False)


@pytest.fixture(scope="session")
def nova_folder():
    """Where Nova is installed, or will be: its schemas are read, it never runs."""
    return OUTSIDE / "nova"


@pytest.fixture(scope="session")
def glance(openstack_packages, tmp_path_factory):
    """A real Glance, empty at first, where tests leave what they make."""
    with Glance(openstack_packages, tmp_path_factory.mktemp("glance")) as made:
        yield made


@pytest.fixture(scope="session")
def libvirtd(tmp_path_factory):
    """A libvirtd of our own; tests leave no guests behind."""
    try:
        needs.check()
    except exception.RoostError as missing:
        pytest.fail(missing.message, pytrace=False)
    folder = tmp_path_factory.mktemp("libvirt")
    with Libvirtd(folder, STATE / "libvirt") as made:
        yield made


@pytest.fixture(scope="session")
def network_programs():
    """What a host makes networks with."""
    try:
        System().check()
    except exception.Invalid as missing:
        pytest.fail(f"{missing.message}; sh tools/packages.sh does that", pytrace=False)


@pytest.fixture(scope="session")
def linux_image():
    """The disk of a tiny Linux."""
    return linux_guest.made(OUTSIDE / "guest")


@pytest.fixture(scope="session")
def pages():
    """Pages that show screens in browsers."""
    return outside_pages.made(OUTSIDE / "pages")


def fresh_database(made_by):
    name = services.unique_name("test")
    yield made_by.create_database(name)
    made_by.drop_database(name)


@pytest.fixture
def rabbitmq_url(rabbitmq):
    """The URL of an empty virtual host."""
    name = services.unique_name("test")
    yield rabbitmq.create_vhost(name)
    rabbitmq.delete_vhost(name)


@pytest.fixture
def postgresql_url(postgresql):
    """The URL of an empty PostgreSQL database."""
    yield from fresh_database(postgresql)


@pytest.fixture
def mariadb_url(mariadb):
    """The URL of an empty MariaDB database."""
    yield from fresh_database(mariadb)


@pytest.fixture(params=["postgresql", "mariadb"])
def database_server(request):
    """A database server of each kind in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def database_url(database_server):
    """The URL of an empty database, of each kind in turn."""
    yield from fresh_database(database_server)


@pytest.fixture(params=["threading", second("eventlet")])
def mode(request):
    """How daemons do many things at once: each way in turn."""
    return request.param


@pytest.fixture
def port():
    """A port of loopback that is free."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
