"""An audit asks all parts, and notes those that do not answer."""

import datetime

import pytest
import sqlalchemy as sa

from roost import audit, exception, states
from roost.cells import Cells
from roost.db.api import build_requests, quota
from roost.db.api import cells as cell_rows
from roost.db.cell import instances, services
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.objects import CellMapping
from tests.builders import CELL1, a_spec, a_uuid, a_wish, an_instance


class Claims:
    def __init__(self, *claims):
        self.claims = claims

    def all_claims(self, context):
        return iter(self.claims)


class NoScheduler:
    def all_claims(self, context):
        raise exception.Timeout("the scheduler did not answer")


class Guests:
    """Stands in for the way to a cell's computes."""

    def __init__(self, **guests):
        self.guests = guests
        self.asked = []

    def on(self, host):
        self.asked.append(host)
        return Host(self.guests.get(host))


class Host:
    def __init__(self, guests):
        self.guests = guests

    def list_guests(self, context):
        if self.guests is None:
            raise exception.Timeout("no answer in 60 s")
        return self.guests


@pytest.fixture
def cells(api_db, cell_db):
    with api_db.begin() as session:
        cell_rows.create(
            session,
            CellMapping.of(
                uuid=CELL1,
                name="cell1",
                transport_url="fake:///cell1",
                database_url=cell_db.url,
                disabled=False,
            ),
        )
    cells = Cells(api_db, make_database=Database, make_bus=lambda url: None)
    yield cells
    cells.close()


@pytest.fixture
def collector(api_db, cells):
    def make(claims=(), **guests):
        (cell,) = cells.all()
        cell.__dict__["compute"] = Guests(**guests)
        return audit.Collector(api_db, cells, Claims(*claims))

    return make


def report_compute(cell_db, host):
    with cell_db.begin() as session:
        services.report(session, host=host, binary="roost-compute")


def silence(cell_db, host):
    table = cell_models.services
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    with cell_db.begin() as session:
        session.execute(sa.update(table).where(table.c.host == host).values(last_seen_up=past))


def test_it_holds_what_all_parts_say(api_db, cell_db, collector):
    spec = a_spec()
    wish = a_wish(spec)
    instance = an_instance(host="h1", node="h1", vm_state=states.ACTIVE, task_state=None)
    report_compute(cell_db, "h1")
    with cell_db.begin() as session:
        instances.create(session, instance)
    with api_db.begin() as session:
        build_requests.create(session, [wish], spec=spec)
        quota.take(session, project_id="p", instances=1, cores=1, ram=1, defaults=NO_LIMIT)

    snapshot = collector([{"instance_uuid": instance.uuid, "host": "h1"}], h1=[instance.uuid])()

    assert [live.uuid for live in snapshot.instances] == [instance.uuid]
    assert snapshot.claims == {instance.uuid: "h1"}
    assert snapshot.guests == {(CELL1, "h1"): {instance.uuid}}
    assert list(snapshot.wishes) == list(snapshot.mappings) == [wish.instance_uuid]
    assert snapshot.quota_used["p"] == {"instances": 1, "cores": 1, "ram": 1}
    assert snapshot.unchecked == []


NO_LIMIT = {"instances": -1, "cores": -1, "ram": -1}


def test_a_host_that_does_not_answer_is_noted(cell_db, collector):
    report_compute(cell_db, "h1")
    report_compute(cell_db, "h2")

    snapshot = collector(h1=[])()

    assert list(snapshot.guests) == [(CELL1, "h1")]
    assert snapshot.unchecked == ["guests on host h2: no answer in 60 s"]


def test_a_host_that_is_down_is_noted_and_not_asked(cell_db, cells, collector):
    report_compute(cell_db, "h1")
    silence(cell_db, "h1")

    snapshot = collector()()

    assert cells.all()[0].compute.asked == []
    assert snapshot.unchecked == ["guests on host h1: it is down"]


def test_without_a_scheduler_claims_are_unknown(api_db, cells):
    snapshot = audit.Collector(api_db, cells, NoScheduler())()

    assert snapshot.claims is None
    assert snapshot.unchecked == ["claims: the scheduler did not answer"]


def test_a_cell_out_of_reach_is_noted_and_the_rest_is_read(api_db, cells, collector):
    with api_db.begin() as session:
        lost = CellMapping.of(
            uuid=a_uuid(),
            name="lost",
            transport_url="fake:///lost",
            database_url="sqlite:////nowhere/lost.sqlite",
            disabled=False,
        )
        cell_rows.create(session, lost)
    cells = Cells(api_db, make_database=Database, make_bus=lambda url: None)

    snapshot = audit.Collector(api_db, cells, Claims())()
    cells.close()

    assert snapshot.unknown_cells == {lost.uuid}
    (noted,) = snapshot.unchecked
    assert noted.startswith("cell lost: the database")
