"""A request of each route that is answered with success, and what has to be there before it."""

from roost.db.api import flavors
from roost.db.cell import services
from roost.rpc.compute import Compute
from tests.builders import CELL1, a_flavor
from tests.functional.api.access_table import OTHER
from tests.functional.api.sample_bodies import BODIES, OLD_NAMES


def operation_of(route):
    return f"{route.method} {route.path}"


def prepare(world, route):
    """Make one of each thing; return what a path of the route calls them."""
    say_that_it_is_up(world, "h1")
    operation = operation_of(route)
    things = world.things() | ({"service_id": _service_id(world)} if route.since > 1 else {})
    things |= OLD_NAMES.get(operation, {})
    if "os-flavor-access" in route.path or route.path.endswith("{flavor_id}/action"):
        things["flavor_id"] = _private_flavor(world, things["flavor_id"])
    if operation == "DELETE /v2.1/os-services/{service_id}":
        things["service_id"] = _spare_service(world, things["flavor_id"])
    if operation == "PUT /image/v2/images/{image_id}/file":
        things["image_id"] = world.image(status="queued").id
    if "/members" in route.path:
        things["image_id"] = world.shared_image(OTHER).id
    if route.path.startswith("/network/"):
        things |= {name: things[f"made_{name}"] for name in ("network_id", "port_id")}
    return things


def body_of(route, things):
    """Return what the route takes, about these things; None: nothing."""
    name = operation_of(route)
    body = BODIES.get(f"{name} {route.since}", BODIES.get(name))
    return _filled(body, {"new": f"new {things['flavor_id']}"} | things)


def _filled(value, words):
    """Put words where a body has their names in braces."""
    if isinstance(value, dict):
        return {key: _filled(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    return value.format(**words) if isinstance(value, str) else value


def _service_id(world):
    with world.databases[CELL1].read() as session:
        return services.list_services(session, hosts=["h1"])[0].uuid


def _private_flavor(world, name):
    values = {"flavorid": f"{name}-private", "name": f"{name}-private", "is_public": False}
    with world.api_db.begin() as session:
        return flavors.create(session, a_flavor(**values)).flavorid


def say_that_it_is_up(world, host):
    """Let a daemon report, as it would from time to time; these tests take longer."""
    with world.databases[CELL1].begin() as session:
        itself = {"host": host, "binary": "roost-compute", "version": Compute.version}
        services.report(session, **itself, availability_zone="nova")


def _spare_service(world, host):
    with world.databases[CELL1].begin() as session:
        return services.report(session, host=host, binary="roost-cell-conductor").uuid
