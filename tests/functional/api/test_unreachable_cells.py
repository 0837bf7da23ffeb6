"""What clients are told while a cell is away, by microversion."""

import datetime

import pytest

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.db.api import server_groups
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, CELL2, NOW, a_group

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None}
PARTIAL = "2.69"
LATER = NOW + datetime.timedelta(seconds=1)


@pytest.fixture
def options():
    return ApiOptions(max_limit=100)


def take_away(world, cell_uuid=CELL2):
    """Let the database of a cell be away."""

    def away():
        raise exception.Unavailable("no route")

    world.databases[cell_uuid].read = world.databases[cell_uuid].begin = away


@pytest.fixture
def here(world):
    return world.place(CELL1, display_name="here", host="h1", **_ACTIVE)


@pytest.fixture
def there(world, here):
    server = world.place(CELL2, display_name="there", host="h2", created_at=LATER, **_ACTIVE)
    take_away(world)
    return server


def listed(world, path="/v2.1/servers", *, version=PARTIAL, token=ALICE):
    answer = world.client.get(path, version=version, token=token)
    assert answer.status_code == 200, answer.text
    return answer.json["servers"]


def links(server):
    path = f"servers/{server.uuid}"
    return [
        {"rel": "self", "href": f"http://falconframework.org/v2.1/{path}"},
        {"rel": "bookmark", "href": f"http://falconframework.org/{path}"},
    ]


def test_since_2_69_a_list_has_what_is_known_of_its_servers_in_their_place(world, here, there):
    unknown, known = listed(world)
    assert unknown == {"id": there.uuid, "status": "UNKNOWN", "links": links(there)}
    assert known["name"] == "here"


def test_since_2_69_a_detailed_list_has_more_of_them(world, here, there):
    unknown, known = listed(world, "/v2.1/servers/detail")
    assert unknown == {
        "id": there.uuid,
        "status": "UNKNOWN",
        "tenant_id": "project",
        "created": "2026-01-02T03:04:06Z",
        "links": links(there),
    }
    assert known["status"] == "ACTIVE"


@pytest.mark.parametrize(
    "query", ["name=e", "status=ACTIVE", "sort_key=uuid", "limit=9", "deleted=1", "host=h2"]
)
def test_what_only_the_cell_could_tell_leaves_them_out(world, here, there, query):
    assert there.uuid not in [
        one["id"] for one in listed(world, f"/v2.1/servers?all_tenants=1&{query}", token="admin")
    ]


def test_a_page_after_a_marker_leaves_them_out_though_the_marker_may_be_one(world, here, there):
    assert [one["id"] for one in listed(world, f"/v2.1/servers?marker={there.uuid}")] == [here.uuid]
    assert listed(world, f"/v2.1/servers?marker={here.uuid}") == []


def test_where_another_order_has_such_a_marker_nobody_can_tell(world, here, there):
    path = f"/v2.1/servers?sort_key=display_name&marker={there.uuid}"
    assert world.client.get(path, version=PARTIAL, token=ALICE).status_code == 503


def test_other_projects_servers_are_not_told_of(world, here, there):
    assert listed(world, token="bob:other") == []
    everybody = listed(world, "/v2.1/servers?all_tenants=1", token="admin")
    assert len(everybody) == 2


class TestStrict:
    """Where operators want no list rather than an incomplete one."""

    @pytest.fixture
    def options(self):
        return ApiOptions(max_limit=100, skip_cells_away=False)

    @pytest.mark.parametrize(
        ("query", "version"), [("", "2.68"), ("?limit=5", PARTIAL), ("?name=e", PARTIAL)]
    )
    def test_a_list_that_would_be_incomplete_fails(self, world, here, there, query, version):
        answer = world.client.get(f"/v2.1/servers{query}", version=version, token=ALICE)
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers

    def test_a_list_that_tells_what_is_unknown_does_not(self, world, here, there):
        assert len(listed(world)) == 2


def test_since_2_69_a_server_shows_what_was_asked_for(world, there):
    with world.api_db.begin() as session:
        group = server_groups.create(session, a_group(), defaults={"server_groups": -1})
        server_groups.join(
            session,
            group.uuid,
            instance_uuids=[there.uuid],
            user_id="user",
            defaults={"server_group_members": -1},
        )
    answer = world.client.get(f"/v2.1/servers/{there.uuid}", version="2.71", token=ALICE)
    shown = answer.json["server"]
    assert shown.pop("flavor")["original_name"] == "m1.tiny"
    assert "id" in shown.pop("image")
    assert shown == {
        "id": there.uuid,
        "status": "UNKNOWN",
        "tenant_id": "project",
        "user_id": "user",
        "created": "2026-01-02T03:04:06Z",
        "links": links(there),
        "OS-EXT-STS:power_state": 0,
        "OS-EXT-AZ:availability_zone": "UNKNOWN",
        "server_groups": [group.uuid],
    }


def test_a_server_of_others_is_not_shown_either(world, there):
    answer = world.client.get(f"/v2.1/servers/{there.uuid}", version=PARTIAL, token="bob:other")
    assert answer.status_code == 404


@pytest.mark.parametrize("token", [ALICE, ADMIN])
def test_a_server_there_cannot_be_deleted_now_as_nobody_knows_whether_it_is_locked(
    world, there, token
):
    answer = world.client.delete(f"/v2.1/servers/{there.uuid}", token=token)
    assert answer.status_code == 503
    assert "Retry-After" in answer.headers
    assert not world.mapping(there.uuid).queued_for_delete


def test_a_server_there_that_was_deleted_before_is_gone(world, here):
    server = world.place(CELL2, host="h2", **_ACTIVE)
    path = f"/v2.1/servers/{server.uuid}"
    assert world.client.delete(path, token=ALICE).status_code == 204
    take_away(world)
    for version in ("2.1", PARTIAL):
        assert world.client.get(path, version=version, token=ALICE).status_code == 404
        assert world.client.delete(path, version=version, token=ALICE).status_code == 404
        assert server.uuid not in [one["id"] for one in listed(world, version=version)]


def test_a_server_there_cannot_be_changed_now(world, there):
    body = {"server": {"name": "other"}}
    answer = world.client.put(f"/v2.1/servers/{there.uuid}", body, token=ALICE)
    assert answer.status_code == 503


def services(world, query="", *, version=PARTIAL):
    return world.client.get(f"/v2.1/os-services{query}", version=version).json["services"]


def test_the_computes_there_are_unknown_since_2_69(world, there):
    query = "?binary=nova-compute"
    assert [one["host"] for one in services(world, query, version="2.68")] == ["h1"]
    unknown = {"binary": "nova-compute", "host": "h2", "status": "UNKNOWN"}
    assert services(world, query)[1:] == [unknown]
    assert unknown in services(world)
    assert services(world, "?host=h2") == [unknown]
    assert services(world, "?host=h1&binary=roost-compute")[0]["status"] == "enabled"
    assert services(world, "?binary=roost-cell-conductor") == []


def test_a_daemon_that_nobody_knows_may_be_there(world, there):
    unknown = "99999999-9999-4999-8999-999999999999"
    body = {"status": "enabled"}
    answer = world.client.put(f"/v2.1/os-services/{unknown}", body, version=PARTIAL)
    assert answer.status_code == 503
    legacy = {"host": "h2", "binary": "roost-compute"}
    assert world.client.put("/v2.1/os-services/enable", legacy).status_code == 503


def test_of_its_hypervisors_is_told_what_the_schedulers_know(world, here, there):
    world.scheduler.reports[1].up = False
    path = "/v2.1/os-hypervisors/detail?with_servers=true"
    known, unknown = world.client.get(path, version="2.96").json["hypervisors"]
    assert [one["uuid"] for one in known["servers"]] == [here.uuid]
    assert "servers" not in unknown
    assert (unknown["state"], unknown["status"]) == ("down", "enabled")
    assert unknown["service"] == {"host": "h2", "id": None, "disabled_reason": None}
