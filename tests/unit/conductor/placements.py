"""What tests of placements share: rows to look at, steps to replace."""

from roost import exception
from roost.conductor.super import boot
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import instances, operations
from tests.builders import CELL1


def mapping(world, uuid):
    with world.api_db.read() as session:
        return instance_mappings.find(session, uuid)


def build_request(world, uuid):
    with world.api_db.read() as session:
        return build_requests.find(session, uuid)


def instance(database, uuid):
    with database.read() as session:
        return instances.find(session, uuid)


def run_with(world, replaced, *made):
    """Run the boots of requests with some steps replaced by name."""
    flows = (boot.PLACE, boot.PLACE_TOGETHER)
    original = boot.PLACE.run
    for flow in flows:
        flow.run = lambda do, work: replaced.get(do.__name__, do)(work)
    try:
        world.build_together(*made)
    finally:
        for flow in flows:
            flow.run = original


class Broken(exception.RoostError):
    pass


def failing(step, *, after):
    def fail(work):
        if after:
            step.do(work)
        raise Broken("on purpose")

    return {step.name: fail}


def end_leases(world):
    with world.api_db.begin() as session:
        session.execute(build_requests._requests.update().values(lease_until=None))


def end_host_leases(database):
    with database.begin() as session:
        session.execute(operations._table.update().values(lease_until=None))


def assert_placed(world, uuid):
    assert build_request(world, uuid) is None
    assert mapping(world, uuid).cell_uuid == CELL1
    assert instance(world.cell1, uuid).host == world.scheduler.claims[uuid]
