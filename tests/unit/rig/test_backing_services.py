"""What a rig of real daemons is told to stand on; nothing is connected here."""

import pytest

from roost import exception
from roost.rig import backing
from roost.rig.plan import new_plan
from roost.rig.services import MariaDB, PostgreSQL, RabbitMQ


class Broker:
    """A broker that is there, and remembers whether it was stopped."""

    stopped = False

    def url(self, vhost):
        return f"rabbit://me@broker:5672/{vhost}"

    def stop(self):
        self.stopped = True


@pytest.fixture
def broker(monkeypatch):
    broker = Broker()
    monkeypatch.setattr(RabbitMQ, "at", lambda _url: broker)
    return broker


@pytest.fixture
def everybody_lets_us_in(monkeypatch):
    for kind in (PostgreSQL, MariaDB):
        monkeypatch.setattr(kind, "check", lambda _self: None)


def find(tmp_path, database, bus="amqp://me@broker"):
    return backing.find(bus=bus, database=database, state=tmp_path)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("postgresql+psycopg://me@db", "postgresql+psycopg://me@db:5432"),
        ("postgresql://me:p%40w@db:1", "postgresql+psycopg://me:p%40w@db:1"),
        ("mysql://me@db", "mysql+pymysql://me@db:3306"),
        ("mariadb+pymysql://me@db/?ssl_ca=x", "mysql+pymysql://me@db:3306/?ssl_ca=x"),
    ],
)
def test_a_database_server_without_a_port_is_at_the_usual_one(
    tmp_path, broker, everybody_lets_us_in, given, found
):
    assert find(tmp_path, given) == ("rabbit://me@broker:5672/", found)


@pytest.mark.parametrize(
    "wrong",
    ["postgres", "oracle://me@db", "sqlite:///x", "postgresql://db", "mysql://me@db:port"],
)
def test_a_database_server_that_cannot_be_is_refused_and_the_broker_ends(tmp_path, broker, wrong):
    with pytest.raises(exception.Invalid, match="--db must"):
        find(tmp_path, wrong)
    assert broker.stopped


@pytest.mark.parametrize("wrong", ["rabbitmq.example", "http://me@b", "amqp://b", "amqp://me@b:x"])
def test_a_broker_that_cannot_be_is_refused(tmp_path, wrong):
    with pytest.raises(exception.Invalid, match="--bus"):
        find(tmp_path, "postgresql", bus=wrong)


def plan_with_users(tmp_path, monkeypatch, *, allowed):
    monkeypatch.setattr(PostgreSQL, "may_create_users", lambda _self: allowed)
    urls = {"bus": "rabbit://me:pw@broker:5672/", "database": "postgresql+psycopg://me@db:5432/"}
    told = []
    plan = new_plan(tmp_path, cells=1, hosts=1, **urls)
    return backing.with_users(plan, say=told.append), told


@pytest.mark.usefixtures("everybody_lets_us_in")
def test_every_level_and_every_host_has_a_password_of_its_own(tmp_path, monkeypatch):
    plan, told = plan_with_users(tmp_path, monkeypatch, allowed=True)
    assert {*plan.bus_secrets} == {"api", "cell1", "cell1-host1"}
    assert {*plan.database_secrets} == {"api", "cell1", "scheduler"}
    assert len({*plan.bus_secrets.values(), *plan.database_secrets.values()}) == 6
    assert told == []


@pytest.mark.usefixtures("everybody_lets_us_in")
def test_where_no_users_may_be_made_all_come_as_the_owner_and_that_is_told(tmp_path, monkeypatch):
    plan, told = plan_with_users(tmp_path, monkeypatch, allowed=False)
    assert plan.database_url("api", as_="api") == plan.database_url("api")
    assert plan.bus_url("cell1").startswith(f"rabbit://{plan.bus_user('cell1')}:")
    assert len(told) == 1
    assert "does not let us make users" in told[0]
