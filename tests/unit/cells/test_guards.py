"""A cell's database and bus behind their breakers: what counts as being away, and what does not."""

import oslo_messaging as messaging
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.cells.cell import CallLimits, GuardedBus
from roost.circuit_breaker import CircuitBreaker
from roost.db.cell import models, services
from roost.db.engine import Database
from roost.db.guarded import GuardedDatabase, ask
from roost.rpc.compute import Compute
from tests.builders import a_context
from tests.fakes.bus import RecordingBus


class Guarded:
    """A guarded database, with nobody who looks whether it is back."""

    def __init__(self, database):
        self.breaker = CircuitBreaker("it", lambda: None, spawn=lambda _look: None)
        self.database = GuardedDatabase(database, self.breaker)


@pytest.fixture
def guarded(make_database):
    return Guarded(make_database("cell", models.metadata))


@pytest.fixture
def away(tmp_path):
    return Guarded(Database(f"sqlite:///{tmp_path}/no/such/folder.sqlite"))


def test_a_database_that_answers_is_used_as_if_nobody_stood_before_it(guarded):
    with guarded.database.begin() as session:
        services.report(session, host="h1", binary="roost-compute")
    with guarded.database.read() as session:
        assert [service.host for service in services.list_services(session)] == ["h1"]


def test_its_clock_is_that_of_the_database(guarded):
    before = guarded.database.now()
    with guarded.database.begin():
        assert guarded.database.now() >= before


def test_a_database_that_cannot_be_reached_is_away_from_then_on(away):
    with pytest.raises(exception.Unavailable) as first, away.database.read():
        pass
    assert not isinstance(first.value, exception.Away)
    with pytest.raises(exception.Away), away.database.begin():
        pass


def test_a_connection_that_breaks_in_the_middle_counts(guarded):
    broken = sa.exc.OperationalError("SELECT 1", {}, Exception("server closed the connection"))
    with pytest.raises(exception.Unavailable), guarded.database.begin():
        raise db_exception.DBConnectionError(broken)
    assert guarded.breaker.is_open


@pytest.mark.parametrize(
    "error",
    [
        exception.NotFound("no such instance"),
        exception.Unavailable("the bus did not take it"),
        exception.Deadlock("another transaction was in the way"),
        exception.ReadOnly("the server is a standby"),
        exception.Unfinished("the disk is full"),
        sa.exc.OperationalError("SELECT 1", {}, Exception("too many parameters")),
    ],
)
def test_what_fails_for_other_reasons_does_not_count(guarded, error):
    with pytest.raises(type(error)), guarded.database.begin():
        raise error
    assert not guarded.breaker.is_open


def test_another_database_that_is_away_does_not_count(guarded, away):
    with (
        pytest.raises(exception.Unavailable),
        guarded.database.begin(),
        away.database.begin(),
    ):
        pass
    assert away.breaker.is_open
    assert not guarded.breaker.is_open


def test_a_database_is_asked_by_a_new_connection(guarded):
    with guarded.database.read():
        pass
    made = []
    sa.event.listen(guarded.database.engine, "connect", lambda *_: made.append(1))
    ask(guarded.database._database)
    assert made


class RealBus(RecordingBus):
    """A bus of another process, whose broker may fall silent."""

    def __init__(self):
        super().__init__()
        self.pinged = 0

    def client(self, topic, version_cap=None):
        return _Client(self)

    def ping(self, *, seconds):
        self.pinged += 1
        super().ping(seconds=seconds)


class _Client:
    def __init__(self, bus):
        self._bus = bus

    def prepare(self, **_options):
        return self

    def cast(self, _context, method, **_arguments):
        if self._bus.away:
            raise messaging.MessageDeliveryFailure("connection refused")
        if self._bus.deaf:
            raise messaging.MessageUndeliverable(None, None, None, "nobody")
        self._bus.sent.append(method)

    call = cast


class Sender:
    def __init__(self):
        self.bus = RealBus()
        self.guarded = GuardedBus("the bus", self.bus, CallLimits())
        self.guarded.breaker._spawn = lambda _look: None
        self.compute = Compute(self.guarded).on("h1")

    def cast(self):
        self.compute.refresh_security_groups(a_context(), project_id="p")


def test_a_message_goes_through():
    sender = Sender()
    sender.cast()
    assert sender.bus.sent == ["refresh_security_groups"]


def test_a_broker_that_refuses_is_away_from_then_on():
    sender = Sender()
    sender.bus.away = True
    with pytest.raises(exception.Unavailable):
        sender.cast()
    with pytest.raises(exception.Away):
        sender.cast()


def test_a_host_that_does_not_listen_is_no_fault_of_the_broker():
    sender = Sender()
    sender.bus.deaf = {"h1"}
    with pytest.raises(exception.Unavailable, match="no server listens"):
        sender.cast()
    assert not sender.guarded.breaker.is_open


def test_before_a_call_the_broker_is_asked():
    sender = Sender()
    sender.compute.list_guests(a_context())
    assert sender.bus.pinged == 1
    sender.bus.away = True
    with pytest.raises(exception.Unavailable):
        sender.compute.list_guests(a_context())
    assert sender.guarded.breaker.is_open
