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
from roost.servicegroup.db import DatabaseGroup
from tests.builders import CELL1, NOW, a_spec, a_uuid, a_wish, an_instance
from tests.fakes.scheduler_claims import FakeLedger, a_claim

GROUP = DatabaseGroup(down_time=60)
ONE, TWO = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in (1, 2))


class NoScheduler(FakeLedger):
    def check(self, context):
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
        return audit.Collector(api_db, cells, FakeLedger(*claims), group=GROUP)

    return make


def report_compute(cell_db, host):
    with cell_db.begin() as session:
        services.report(session, host=host, binary="roost-compute")


def silence(cell_db, host):
    table = cell_models.services
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    with cell_db.begin() as session:
        session.execute(sa.update(table).where(table.c.host == host).values(last_seen_up=past))


def test_a_look_holds_what_all_say_of_suspects(api_db, cell_db, collector):
    spec = a_spec()
    build_request, other = a_wish(spec), a_wish(spec)
    instance = an_instance(host="h1", node="h1", vm_state=states.ACTIVE, task_state=None)
    report_compute(cell_db, "h1")
    with cell_db.begin() as session:
        for one in (instance, an_instance(host="h1", node="h1")):
            instances.create(session, one)
    with api_db.begin() as session:
        build_requests.create(session, [build_request, other], spec=spec)
        quota.take(
            session, project_id="p", user_id="user", instances=1, cores=1, ram=1, defaults=NO_LIMIT
        )
    suspects = audit.Suspects({instance.uuid, build_request.instance_uuid}, {(CELL1, "h1")})

    claims = [a_claim(instance.uuid, "h1"), a_claim(TWO, "h1")]
    snapshot = collector(claims, h1=[instance.uuid, TWO]).look(suspects)

    assert [live.uuid for live in snapshot.instances] == [instance.uuid]
    assert snapshot.claims == {instance.uuid: ["h1"]}
    assert snapshot.guests == {(CELL1, "h1"): {instance.uuid}}
    assert list(snapshot.build_requests) == list(snapshot.mappings) == [build_request.instance_uuid]
    assert snapshot.quota_used["p"] == {"instances": 1, "cores": 1, "ram": 1, "server_groups": 0}
    assert snapshot.unchecked == []


@pytest.mark.parametrize("vm_state", states.WITH_GUEST)
def test_a_sweep_suspects_what_does_not_agree(cell_db, collector, vm_state):
    report_compute(cell_db, "h1")
    at_rest = {"vm_state": vm_state, "task_state": None, "host": "h1", "node": "h1"}
    fine, without_guest = an_instance(**at_rest), an_instance(**at_rest)
    with cell_db.begin() as session:
        for one in (fine, without_guest):
            instances.create(session, one)

    suspects = collector([a_claim(ONE, "h1")], h1=[fine.uuid, TWO]).sweep()

    # neither is mapped or claimed; ONE has a claim only, TWO a guest only
    assert suspects.uuids == {fine.uuid, without_guest.uuid, ONE, TWO}
    assert suspects.hosts == {(CELL1, "h1")}


def test_a_sweep_of_many_pieces_sees_every_one(api_db, collector, monkeypatch):
    monkeypatch.setattr(audit.collector, "_SPAN", 1)
    spec = a_spec()
    wishes = [a_wish(spec) for _ in range(40)]
    with api_db.begin() as session:
        build_requests.create(session, wishes, spec=spec)
        for build_request in wishes:
            build_requests.forget(session, build_request.instance_uuid)

    suspects = collector([a_claim(ONE, "h1")]).sweep()

    assert suspects.uuids == {build_request.instance_uuid for build_request in wishes} | {ONE}


NO_LIMIT = {"instances": -1, "cores": -1, "ram": -1}


def test_a_host_that_does_not_answer_is_noted(cell_db, collector):
    report_compute(cell_db, "h1")
    report_compute(cell_db, "h2")

    assert collector(h1=[]).sweep().unchecked == ["guests on host h2: no answer in 60 s"]


def test_a_host_that_is_down_is_noted_and_not_asked(cell_db, cells, collector):
    report_compute(cell_db, "h1")
    silence(cell_db, "h1")

    suspects = collector().sweep()

    assert cells.all()[0].compute.asked == []
    assert suspects.unchecked == ["guests on host h1: it is down"]


def test_without_a_scheduler_claims_are_unknown(api_db, cells):
    collector = audit.Collector(api_db, cells, NoScheduler(), group=GROUP)
    suspects = collector.sweep()

    assert collector.look(suspects).claims is None
    assert suspects.unchecked == ["claims: the scheduler did not answer"]


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

    collector = audit.Collector(api_db, cells, FakeLedger(), group=GROUP)
    snapshot = collector.look(collector.sweep())
    cells.close()

    assert snapshot.unknown_cells == {lost.uuid}
    (noted,) = snapshot.unchecked
    assert noted.startswith("cell lost: the database")


def test_a_reservation_is_overdue_when_its_lifetime_is_long_over(api_db, cells):
    def look(seconds):
        collector = audit.Collector(
            api_db,
            cells,
            FakeLedger(
                a_claim(ONE, "h1", state="reserved", age=seconds), a_claim(TWO, "h1", age=seconds)
            ),
            group=GROUP,
        )
        return collector.look(audit.Suspects({ONE, TWO})).overdue

    assert look(60) == {}
    assert look(160) == {ONE: NOW}
