"""Who may do what: every route, asked by everybody; the table is written by hand.

A route or rule that is not in a table fails: whoever adds one says here who may use it.
"""

import json

import pytest

from roost import conf
from roost.api import policies
from roost.api.parts import Options
from roost.api.policy import Policy
from roost.api.routes import ROUTES
from roost.db.api import flavors
from roost.db.cell import services
from tests import api_world
from tests.builders import CELL1, a_context, a_flavor
from tests.functional.api.good_bodies import BODIES, OLD_NAMES
from tests.functional.api.who_may import CALLERS, LEAST, OTHER, OWN, ROLES, SCOPES, WHO_MAY


class _Roles:
    """Believes whoever says which roles they have."""

    def process_request(self, req, resp):
        who = req.get_header("X-Who")
        roles, project = CALLERS[who]
        req.context.caller = a_context(
            roles=roles,
            project_id=project,
            request_id=req.context.request_id,
            **{"is_admin": "admin" in roles} | SCOPES.get(who, {}),
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    unlimited = Options(quota=dict.fromkeys(Options().quota, -1))
    folder = tmp_path_factory.mktemp("world")
    with api_world.made_in(folder, unlimited, authentication=_Roles()) as world:
        yield world


@pytest.fixture(scope="module")
def service_id(world):
    with world.databases[CELL1].read() as session:
        return services.list_services(session, hosts=["h1"])[0].uuid


@pytest.fixture(scope="module")
def policy():
    return Policy(conf.of({}))


def _operation(route):
    return f"{route.method} {route.path}"


def _body(route, words):
    name = _operation(route)
    body = BODIES.get(f"{name} {route.since}", BODIES.get(name))
    return _filled(body, words)


def _filled(value, words):
    """Put words where a body has their names in braces."""
    if isinstance(value, dict):
        return {key: _filled(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    return value.format(**words) if isinstance(value, str) else value


def _private_flavor(world, name):
    values = {"flavorid": f"{name}-private", "name": f"{name}-private", "is_public": False}
    with world.api_db.begin() as session:
        return flavors.create(session, a_flavor(**values)).flavorid


def _say_that_it_is_up(world, host):
    """Let a daemon report, as it would from time to time; these tests take longer."""
    with world.databases[CELL1].begin() as session:
        services.report(session, host=host, binary="roost-compute", availability_zone="nova")


def _spare_service(world, host):
    with world.databases[CELL1].begin() as session:
        return services.report(session, host=host, binary="roost-cell-conductor").uuid


def test_every_route_is_in_the_table_and_nothing_else():
    assert set(WHO_MAY) == {_operation(route) for route in ROUTES}


def test_every_rule_is_in_the_table_and_nothing_else():
    roles = {rule.name for rule in policies.base.RULES}
    assert set(LEAST) | roles == {rule.name for rule in policies.list_rules()}


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path} {r.since}")
def test_everybody_gets_what_the_table_says(world, service_id, route, who):
    expected = WHO_MAY[_operation(route)].get(who, 403)
    things = world.things() | ({"service_id": service_id} if route.since > 1 else {})
    things |= OLD_NAMES.get(_operation(route), {})
    if "os-flavor-access" in route.path or route.path.endswith("{flavor_id}/action"):
        things["flavor_id"] = _private_flavor(world, things["flavor_id"])
    if route.path.endswith("/uptime"):
        _say_that_it_is_up(world, "h1")
    if _operation(route) == "DELETE /v2.1/os-services/{service_id}":
        things["service_id"] = _spare_service(world, things["flavor_id"])
    if _operation(route) == "PUT /image/v2/images/{image_id}/file":
        things["image_id"] = world.image(status="queued").id
    if "/members" in route.path:
        things["image_id"] = world.shared_image(OTHER).id
    if route.path.startswith("/network/"):
        things |= {name: things[f"made_{name}"] for name in ("network_id", "port_id")}
    body = _body(route, things | {"new": f"new {things['flavor_id']}"})
    answer = world.client.ask(
        route.method,
        route.path.format(**things),
        version=f"2.{route.until}",
        headers={"X-Who": who, "Content-Type": route.takes[0]},
        body=b"" if body is None else json.dumps(body),
    )
    got = "yes" if answer.status_code < 300 else answer.status_code
    assert got == expected, answer.text


@pytest.mark.parametrize("rule", LEAST)
def test_a_rule_is_passed_by_its_role_and_those_above_in_the_own_project(policy, rule):
    least = ROLES.index(LEAST[rule])
    for number, role in enumerate(ROLES):
        roles, _ = CALLERS[role]
        caller = a_context(roles=roles, project_id=OWN)
        assert policy.allows(caller, rule) == (number >= least), role
        elsewhere = role == "administrator" or LEAST[rule] == "nobody"
        assert policy.allows(caller, rule, project_id=OTHER) == elsewhere, role
