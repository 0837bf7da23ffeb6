"""Who may do what: every route, asked by everybody; the table is written by hand.

A route or rule that is not in a table fails: whoever adds one says here who may use it.
"""

import json

import pytest

from roost import conf
from roost.api import policy as api_policy
from roost.api.dependencies import ApiOptions
from roost.api.policy import Policy
from roost.standalone.tables import ROUTES, list_rules
from tests import api_harness
from tests.builders import a_context
from tests.functional.api.access_table import CALLERS, LEAST, OTHER, OWN, ROLES, SCOPES, WHO_MAY
from tests.functional.api.sample_requests import (
    body_of,
    operation_of,
    prepare,
    say_that_it_is_up,
)


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
    unlimited = ApiOptions(quota=dict.fromkeys(ApiOptions().quota, -1))
    folder = tmp_path_factory.mktemp("world")
    with api_harness.made_in(folder, unlimited, authentication=_Roles()) as world:
        yield world


@pytest.fixture(scope="module")
def prepared(world):
    """What there is for the route that is asked: whoever is refused leaves it to the next."""
    return {}


@pytest.fixture(scope="module")
def policy():
    return Policy(conf.of({}), list_rules())


def test_every_route_is_in_the_table_and_nothing_else():
    assert set(WHO_MAY) == {operation_of(route) for route in ROUTES}


def test_every_rule_is_in_the_table_and_nothing_else():
    roles = {rule.name for rule in api_policy.ROLES}
    assert set(LEAST) | roles == {rule.name for rule in list_rules()}


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path} {r.since}")
def test_everybody_gets_what_the_table_says(world, prepared, route, who):
    expected = WHO_MAY[operation_of(route)].get(who, 403)
    if route not in prepared:
        prepared.clear()
        prepared[route] = prepare(world, route)
    things = prepared[route]
    say_that_it_is_up(world, "h1")
    body = body_of(route, things)
    answer = world.client.ask(
        route.method,
        route.path.format(**things),
        version=f"2.{route.until}",
        headers={"X-Who": who, "Content-Type": route.takes[0]},
        body=b"" if body is None else json.dumps(body),
    )
    got = "yes" if answer.status_code < 300 else answer.status_code
    if got == "yes" and route.method != "GET":
        prepared.clear()
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
