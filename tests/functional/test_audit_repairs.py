"""Damage of every kind, done to a deployment of real databases: found, repaired, and no more."""

import concurrent.futures
import datetime
import json
import threading

import pytest
import sqlalchemy as sa

from roost import audit, exception, states
from roost.db import wire
from roost.db.api import audits, build_requests, instance_mappings, quota
from roost.db.api import models as api_models
from roost.db.api import soft_delete as mappings
from roost.db.cell import instances
from roost.db.cell import models as cell_models
from roost.db.scheduler import models as scheduler_models
from roost.db.types import utcnow
from roost.scheduler.topology import HeldTopology
from tests.audit_harness import AN_HOUR, SIZES, UNLIMITED, World
from tests.builders import (
    CELL1,
    CELL2,
    NOW,
    a_context,
    a_numa_topology,
    a_spec,
    a_uuid,
    a_wish,
    taken,
)
from tests.fakes.neutron import failure


@pytest.fixture
def world(api_db, make_database):
    world = World(api_db, make_database)
    yield world
    world.cells.close()


MAPPINGS = api_models.instance_mappings
INSTANCES = cell_models.instances
PORTS = cell_models.ports


def lose_a_claim(world):
    world.schedulers.release_claims(a_context(), instance_uuids=world.servers[:1])


def claim_for_nobody(world):
    world.schedulers.select_destinations(
        a_context(), request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=0
    )


def move_a_claim(world):
    holdings = {world.servers[0]: taken(vcpus=1, memory_mb=512, disk_gb=1)}
    lose_a_claim(world)
    world.schedulers.restore_claims(a_context(), host="h2", node="h2", holdings=holdings)


def miscount_a_host(world):
    hosts = scheduler_models.hosts
    world.write(sa.update(hosts).values(used=taken(vcpus=7), instances_used=9), world.books)


def miscount_a_project(world):
    world.write(sa.update(api_models.quota_usages).values(instances=1, cores=900))


def leave_a_port(world):
    port = {
        "id": a_uuid(),
        "instance_uuid": a_uuid(),
        "position": 0,
        "network_id": a_uuid(),
        "ip": "10.0.0.7",
        "mac": "fa:16:3e:00:00:01",
    }
    world.write(sa.insert(PORTS).values(port), world.databases[CELL1])


def leave_a_guest(world):
    world.guests["h1"]["h1"].add(a_uuid())


def lose_a_guest(world):
    world.guests["h1"]["h1"].remove(world.servers[0])


def run_a_guest_twice(world):
    world.guests["h2"]["h2"].add(world.servers[0])


def lose_a_mapping(world):
    with world.api_db.begin() as session:
        instance_mappings.forget(session, world.servers[0])


def map_wrongly(world):
    world.write(
        sa.update(MAPPINGS)
        .where(MAPPINGS.c.instance_uuid == world.servers[0])
        .values(cell_uuid=CELL2)
    )


def map_nowhere(world):
    world.write(
        sa.update(MAPPINGS)
        .where(MAPPINGS.c.instance_uuid == world.servers[0])
        .values(cell_uuid=None)
    )


def bury_behind_the_back(world):
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, world.servers[0])
    world.guests["h1"]["h1"].discard(world.servers[0])
    world.schedulers.release_claims(a_context(), instance_uuids=world.servers[:1])


def put_away(world, *, row=states.SOFT_DELETED):
    """Let the first server be put away, or only its mapping say so."""
    uuid = world.servers[0]
    with world.api_db.begin() as session:
        mappings.settle(session, mappings.soft_delete(session, uuid).operation_uuid)
    mine = INSTANCES.c.uuid == uuid
    values = {"vm_state": row, "soft_deleted_at": NOW}
    world.write(sa.update(INSTANCES).where(mine).values(values), world.databases[CELL1])


def map_what_is_in_use_as_put_away(world):
    put_away(world, row=states.ACTIVE)


def map_what_is_put_away_as_in_use(world):
    put_away(world)
    with world.api_db.begin() as session:
        away = instance_mappings.get(session, world.servers[0])
        restored = mappings.restore(session, away, defaults=UNLIMITED)
        mappings.settle(session, restored.operation_uuid)


def lose_the_mapping_of_what_is_put_away(world):
    put_away(world)
    lose_a_mapping(world)


def lose_a_wish(world):
    spec = a_spec()
    build_request = a_wish(spec)
    with world.api_db.begin() as session:
        quota.take(session, project_id="project", user_id="user", defaults=UNLIMITED, **SIZES)
        build_requests.create(session, [build_request], spec=spec)
        build_requests.forget(session, build_request.instance_uuid)


@pytest.mark.parametrize(
    ("damage", "kinds"),
    [
        (lose_a_claim, ["instances without claim"]),
        (move_a_claim, ["instances without claim"]),
        (claim_for_nobody, ["claims without instance"]),
        (miscount_a_host, ["usage other than the claims"]),
        (miscount_a_project, ["quota usage other than the mappings"]),
        (leave_a_port, ["ports without instance"]),
        (leave_a_guest, ["guests without instance"]),
        (lose_a_guest, ["instances without guest"]),
        (run_a_guest_twice, ["guests without instance", "instances on two hosts"]),
        (lose_a_mapping, ["instances without mapping"]),
        (map_wrongly, ["instances without mapping"]),
        (map_nowhere, ["instances without mapping"]),
        (bury_behind_the_back, ["mappings without instance"]),
        (lose_a_wish, ["mappings without instance"]),
        (map_what_is_in_use_as_put_away, ["soft-deleted other than the mappings"]),
        (map_what_is_put_away_as_in_use, ["soft-deleted other than the mappings"]),
        (lose_the_mapping_of_what_is_put_away, ["instances without mapping"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_found_and_repaired(world, damage, kinds):
    assert world.found() == []
    damage(world)
    assert world.found() == kinds
    assert all(outcome.done for outcome in world.repair())
    assert world.found() == []


def test_a_claim_is_restored_with_the_cpus_and_custom_resources_of_its_server(world):
    pinned = a_numa_topology({"pcpus": [1]}, cpu_policy="dedicated")
    allocations = json.dumps({"": {"CUSTOM_LICENSE": 1}})
    values = {"numa_topology": wire.dump(pinned), "allocations": allocations}
    world.write(sa.update(INSTANCES).values(values), world.databases[CELL1])
    lose_a_claim(world)
    world.repair()
    claims = scheduler_models.claims.c
    with world.books.read() as session:
        mine = sa.select(claims.details, claims.allocations)
        row = session.execute(mine.where(claims.instance_uuid == world.servers[0])).one()
    assert HeldTopology.from_json(row.details).numa.cells[0].pcpus == [1]
    assert (row.allocations[""]["PCPU"], row.allocations[""]["CUSTOM_LICENSE"]) == (1, 1)


def test_all_damage_at_once_is_repaired_too(world):
    for damage in (leave_a_port, leave_a_guest, claim_for_nobody, lose_a_wish, lose_a_guest):
        damage(world)
    bury_behind_the_back(world)
    miscount_a_host(world)
    miscount_a_project(world)
    assert len(world.found()) >= 6
    world.repair()
    assert world.found() == []


def test_what_is_put_away_is_no_finding(world):
    put_away(world)
    assert world.found() == []


def the_mapping(world):
    with world.api_db.read() as session:
        return instance_mappings.get(session, world.servers[0])


@pytest.mark.parametrize("heard", [states.ACTIVE, states.SOFT_DELETED])
def test_after_an_old_copy_a_server_is_in_use_and_its_cell_restores_it(world, heard):
    """Which of the two copies is old is not asked: nobody loses a server."""
    if heard == states.ACTIVE:
        map_what_is_in_use_as_put_away(world)
    else:
        map_what_is_put_away_as_in_use(world)
    assert world.found() == ["soft-deleted other than the mappings"]
    assert all(outcome.done for outcome in world.repair())
    assert world.found() == []
    found = the_mapping(world)
    is_restored = found.operation_uuid is not None
    assert (found.put_away_at, is_restored) == (None, heard == states.SOFT_DELETED)


def test_what_is_put_away_while_it_is_repaired_stays_so(world):
    map_what_is_in_use_as_put_away(world)
    before = the_mapping(world)
    assert all(outcome.done for outcome in world.repair())
    with world.api_db.begin() as session:
        mappings.soft_delete(session, world.servers[0])
        assert not audits.use_again(session, before, is_away=False)
    assert the_mapping(world).put_away_at is not None


def test_what_is_put_away_and_unmapped_is_mapped_and_its_cell_restores_it(world):
    lose_the_mapping_of_what_is_put_away(world)
    world.repair()
    found = the_mapping(world)
    assert found.put_away_at is None
    assert found.operation_uuid is not None


def test_servers_that_come_and_go_are_no_findings(world):
    """Nor is anything repaired that is under way."""
    stop = threading.Event()

    def storm(host):
        while not stop.is_set():
            world.end(world.boot(host), host)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        storms = [pool.submit(storm, host) for host in ("h1", "h2")]
        try:
            reports = [audit.audit(world.collector, settle=1.0) for _ in range(3)]
        finally:
            stop.set()
        for one in storms:
            one.result()
    assert [report.findings for report in reports] == [[], [], []]
    assert world.found() == []


def test_a_wish_that_waits_for_long_is_handed_to_the_next_worker(world):
    spec = a_spec()
    build_request = a_wish(spec, created_at=datetime.datetime.now(datetime.UTC) - AN_HOUR)
    with world.api_db.begin() as session:
        quota.take(session, project_id="project", user_id="user", defaults=UNLIMITED, **SIZES)
        build_requests.create(session, [build_request], spec=spec)
        build_requests.lease(
            session, owner="stuck", seconds=9e5, instance_uuids=[build_request.instance_uuid]
        )
    assert world.found() == ["build requests stuck"]
    world.repair()
    with world.api_db.read() as session:
        waiting = build_requests.list_waiting(session, older_than=datetime.timedelta(0))
    assert [one.instance_uuid for one in waiting] == [build_request.instance_uuid]


def test_what_only_people_can_decide_is_left_with_the_reason(world):
    twin = world.servers[0]
    with world.databases[CELL1].read() as session:
        instance = instances.get(session, twin)
    with world.databases[CELL2].begin() as session:
        instance.host = instance.node = "h2"
        instances.create(session, instance)
    outcomes = world.repair()
    reasons = [outcome.why for outcome in outcomes if not outcome.done]
    assert "an operator must decide" in str(reasons)
    assert "instances in two cells" in world.found()


def test_a_server_whose_cell_has_no_trace_of_it_is_left(world):
    """Its cell may have been restored from a backup; what it had may come back."""
    with world.databases[CELL1].begin() as session:
        instances.remove(session, [world.servers[0]])
    reasons = [outcome.why for outcome in world.repair() if not outcome.done]
    assert len(reasons) == 1
    assert "delete it as its user would" in reasons[0]


def test_what_moved_on_since_it_was_looked_at_stays_as_it_is(world):
    bury_behind_the_back(world)
    report = world.audit()
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, world.servers[0])
        instance_mappings.forget(session, world.servers[0])
    plan = audit.plan(report.findings, report.snapshot)
    outcomes = [outcome.what for outcome in world.mender.carry_out(plan)]
    assert outcomes == ["no longer so"]
    assert world.found() == []


def test_a_claim_is_not_taken_from_an_instance_that_is_being_built(world):
    lose_a_claim(world)
    with world.databases[CELL1].begin() as session:
        update = sa.update(INSTANCES).where(INSTANCES.c.uuid == world.servers[0])
        building = {"vm_state": states.BUILDING, "task_state": states.SPAWNING}
        session.execute(update.values(**building, updated_at=utcnow()))
    (outcome,) = world.repair()
    assert (outcome.what, outcome.done) == ("left alone", False)


def test_a_repair_that_fails_is_told_and_the_others_are_done(world, monkeypatch):
    def away(*_args, **_kwargs):
        raise exception.Unavailable("no scheduler")

    claim_for_nobody(world)
    miscount_a_project(world)
    monkeypatch.setattr(world.schedulers, "release_claims", away)
    told = {outcome.what: outcome.why for outcome in world.repair()}
    assert set(told) == {"failed", "recounted"}
    assert told["failed"].endswith("no scheduler")


def gone(world):
    """Return a server that was deleted as daemons do it."""
    uuid = world.boot("h1")
    world.end(uuid, "h1")
    return uuid


def test_ports_of_neutron_are_let_go_when_their_server_is_buried(world):
    world.plug(world.servers[0])
    uuid = gone(world)
    made, taken = world.plug(uuid), world.plug(uuid, made=False)
    assert world.found() == ["ports without instance"]
    assert sorted(outcome.repair.subject for outcome in world.repair()) == sorted([made, taken])
    left = {port.id: port.device_id for port in world.neutron.all["port"]}
    assert (left.pop(taken), list(left.values())) == ("", [world.servers[0]])
    assert world.found() == []


@pytest.mark.parametrize("made", [True, False, None])
def test_ports_of_servers_that_live_or_are_to_live_are_no_findings(world, made):
    spec = a_spec()
    build_request = a_wish(spec, created_at=datetime.datetime.now(datetime.UTC))
    with world.api_db.begin() as session:
        quota.take(session, project_id="project", user_id="user", defaults=UNLIMITED, **SIZES)
        build_requests.create(session, [build_request], spec=spec)
    for uuid in (world.servers[0], world.servers[5], build_request.instance_uuid):
        world.plug(uuid, made=made)
    assert world.found() == []


def test_ports_that_nobody_can_prove_to_be_left_over_are_told_and_left(world):
    unmarked, foreign = world.plug(gone(world), made=None), world.plug(a_uuid())
    outcomes = world.repair()
    assert [outcome.what for outcome in outcomes] == ["left alone", "left alone"]
    reasons = {outcome.repair.subject: outcome.why for outcome in outcomes}
    assert "no mark of Roost" in reasons[unmarked]
    assert "another deployment's" in reasons[foreign]
    assert {port.id for port in world.neutron.all["port"]} == {unmarked, foreign}


def test_ports_of_other_services_are_nobodys_business(world):
    world.plug(a_uuid(), made=None)
    assert world.found() == []


def test_while_a_cell_cannot_be_read_nothing_is_said_of_ports(world, monkeypatch):
    def away():
        raise exception.Unavailable("no answer")

    world.plug(gone(world))
    monkeypatch.setattr(world.databases[CELL2], "read", away)
    report = audit.audit(world.collector, settle=0)
    assert "ports without instance" not in {finding.kind for finding in report.findings}
    assert [noted.partition(":")[0] for noted in report.unchecked] == ["cell cell2"]


def test_a_neutron_that_does_not_answer_is_noted_and_the_rest_is_looked_at(world):
    lose_a_claim(world)
    world.neutron.trouble = [failure(503)]
    report = audit.audit(world.collector, settle=0)
    assert [finding.kind for finding in report.findings] == ["instances without claim"]
    (noted,) = report.unchecked
    assert noted.startswith("ports of Neutron: Neutron answered 503")


def test_a_port_that_another_server_has_by_now_is_not_let_go(world):
    port = world.plug(gone(world))
    report = world.audit()
    world.neutron.update_port(port, device_id=world.servers[0])
    plan = audit.plan(report.findings, report.snapshot)
    assert [outcome.what for outcome in world.mender.carry_out(plan)] == ["no longer so"]
    assert [found.id for found in world.neutron.all["port"]] == [port]
