"""A token without any project opens nothing that belongs to one, whatever policies are in force."""

import json

import pytest
import sqlalchemy as sa

from roost import conf
from roost.api.dependencies import ApiOptions
from roost.api.policy import Policy
from roost.standalone.tables import ROUTES, list_rules
from tests import api_harness
from tests.builders import a_context, a_uuid
from tests.functional.api.access_table import WHO_MAY
from tests.functional.api.sample_bodies import OLD_NAMES
from tests.functional.api.sample_requests import body_of, operation_of

COUNTED = {"POST /v2.1/os-keypairs"}  # everybody's, but a project's quota counts them
LAX = ("enforce_new_defaults = false", "enforce_scope = false")


class _Unscoped:
    """Believes whoever says which roles they have; all are without a project."""

    def process_request(self, req, resp):
        roles = (req.get_header("X-Roles") or "").split()
        req.context.caller = a_context(
            roles=roles,
            project_id=None,
            is_admin="admin" in roles,
            request_id=req.context.request_id,
        )


@pytest.fixture(scope="module", params=[(), LAX], ids=["strict", "lax"])
def world(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    options = folder / "roost.conf"
    options.write_text("\n".join(["[oslo_policy]", *request.param]))
    policy = Policy(conf.load([f"--config-file={options}"], prog="roost-api"), list_rules())
    unlimited = ApiOptions(quota=dict.fromkeys(ApiOptions().quota, -1))
    with api_harness.made_in(folder, unlimited, authentication=_Unscoped(), policy=policy) as world:
        yield world


def ask(world, route, things, roles):
    things = things | OLD_NAMES.get(operation_of(route), {}) | {"new": f"new {a_uuid()}"}
    body = body_of(route, things)
    return world.client.ask(
        route.method,
        route.path.format(**things),
        version=f"2.{route.until}",
        headers={"X-Roles": roles, "Content-Type": route.takes[0]},
        body=b"" if body is None else json.dumps(body),
    )


def walk(world, roles):
    """Ask each route for something that is there; yield it with the answer."""
    things = world.things()
    for route in ROUTES:
        answer = ask(world, route, things, roles)
        yield route, answer
        if route.method != "GET" and answer.status_code < 300:
            things = world.things()  # it may have gone, or become another


def of_no_project(world):
    """Count the rows that belong to a project called None, or to an empty one."""
    found = {}
    for database in (world.api_db, *world.databases.values()):
        tables = sa.MetaData()
        tables.reflect(database.engine)
        with database.read() as session:
            for table in tables.sorted_tables:
                if "project_id" in table.c:
                    mine = table.c.project_id.in_(["None", ""]) if table.name != "quotas" else None
                    query = sa.select(sa.func.count()).select_from(table).where(mine)
                    found[table.name] = found.get(table.name, 0) + session.scalar(query)
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("roles", ["", "member reader"])
def test_who_has_no_project_is_refused_where_there_must_be_one(world, roles):
    for route, answer in walk(world, roles):
        if (
            WHO_MAY[operation_of(route)].get("nobody") == "yes"
            and operation_of(route) not in COUNTED
        ):
            assert answer.status_code < 400, (operation_of(route), answer.text)
        else:
            assert answer.status_code == 403, (operation_of(route), answer.text)
    assert of_no_project(world) == {}


def test_administrators_without_project_make_nothing_that_belongs_to_none(world):
    for route, answer in walk(world, "admin member reader"):
        assert answer.status_code < 500 or answer.status_code == 501, (route.path, answer.text)
    assert of_no_project(world) == {}


@pytest.mark.parametrize(
    "operation",
    [
        ("GET", "/v2.1/servers"),
        ("GET", "/v2.1/servers/detail"),
        ("POST", "/v2.1/servers"),
        ("POST", "/v2.1/os-keypairs"),
        ("GET", "/v2.1/limits"),
        ("GET", "/v2.1/os-server-groups"),
        ("POST", "/v2.1/os-server-groups"),
    ],
)
def test_they_are_told_what_is_missing(world, operation):
    method, path = operation
    route = [one for one in ROUTES if (one.method, one.path) == (method, path)][-1]
    answer = ask(world, route, world.things(), "admin")
    assert answer.status_code == 403
    assert "a token for a project" in answer.text


def test_they_still_see_all_projects(world):
    things = world.things()
    for path in (
        f"servers/{things['server_id']}",
        "servers?all_tenants=1",
        "limits?tenant_id=project",
        "os-server-groups?all_projects=1",
    ):
        answer = world.client.get(f"/v2.1/{path}", headers={"X-Roles": "admin"})
        assert answer.status_code == 200, (path, answer.text)
