"""What projects have used over some time."""

import datetime

import pytest

from roost import exception, states
from roost.db.cell import instances
from roost.db.cell import models as cell_models
from tests.api_harness import ALICE, count_statements
from tests.builders import CELL1, CELL2, a_flavor, an_image

PATH = "/v2.1/os-simple-tenant-usage"
DAY = datetime.datetime(2026, 1, 10, tzinfo=datetime.UTC)
PERIOD = "start=2026-01-10T00:00:00&end=2026-01-11T00:00:00"
FLAVOR = a_flavor(name="m1.big", vcpus=2, memory_mb=1024, root_gb=10, ephemeral_gb=5)
ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "flavor": FLAVOR}


def at(hours):
    return DAY + datetime.timedelta(hours=hours)


def ran(world, began, ended=None, *, cell=CELL1, **values):
    """Place a server that ran from an hour of the day to another."""
    server = world.place(cell, created_at=at(began), launched_at=at(began), **ACTIVE | values)
    if ended is not None:
        with world.databases[cell].begin() as session:
            instances.mark_deleted(session, server.uuid)
            session.execute(
                cell_models.instances.update()
                .where(cell_models.instances.c.uuid == server.uuid)
                .values(deleted_at=at(ended))
            )
    return server


def uuids(count):
    return [f"{number}0000000-0000-4000-8000-000000000000" for number in range(count)]


def listed(world, query=PERIOD, *, version="2.1"):
    answer = world.client.get(f"{PATH}?{query}", version=version)
    assert answer.status_code == 200, answer.text
    return answer.json


def shown(world, project="project", query=PERIOD, *, version="2.1", token=ALICE):
    return world.client.get(f"{PATH}/{project}?{query}", version=version, token=token).json


def test_a_root_disk_is_charged_for_where_only_the_image_says_how_large_it_is(world):
    flavor = a_flavor(vcpus=1, memory_mb=1, root_gb=0, ephemeral_gb=5)
    ran(world, 0, 1, flavor=flavor, image=an_image(min_disk=4))
    assert shown(world)["tenant_usage"]["total_local_gb_usage"] == 9.0


def take_away(world, cell_uuid=CELL2):
    def away():
        raise exception.Unavailable("no route")

    world.databases[cell_uuid].read = away


def test_a_project_has_used_what_ran(world):
    ran(world, 6, 9, uuid=uuids(2)[0])
    ran(world, 20, cell=CELL2, uuid=uuids(2)[1])
    (usage,) = listed(world)["tenant_usages"]
    assert usage == {
        "start": "2026-01-10T00:00:00.000000",
        "stop": "2026-01-11T00:00:00.000000",
        "tenant_id": "project",
        "total_hours": 7.0,
        "total_local_gb_usage": 105.0,
        "total_memory_mb_usage": 7168.0,
        "total_vcpus_usage": 14.0,
    }


@pytest.mark.parametrize(
    ("began", "ended", "hours"),
    [(-5, -1, None), (-5, 0, None), (-5, 1, 1), (-5, None, 24), (23, 30, 1), (24, None, None)],
)
def test_only_what_ran_within_the_period_counts(world, began, ended, hours):
    ran(world, began, ended)
    assert [one["total_hours"] for one in listed(world)["tenant_usages"]] == [hours] * bool(hours)


def test_what_never_ran_is_not_used(world):
    world.place(created_at=at(1), **ACTIVE | {"launched_at": None})
    world.build_request(created_at=at(1))
    assert listed(world)["tenant_usages"] == []
    assert shown(world) == {"tenant_usage": {}}


def test_a_server_that_is_put_away_counts_until_it_is_reclaimed(world):
    """The Compute API documents that the time counts for which a server exists, whatever it does.

    What is put away exists: it is stopped, can be restored, and keeps its place on its host.
    """
    away = {"vm_state": states.SOFT_DELETED, "soft_deleted_at": at(6)}
    ran(world, 2, **away)
    (server,) = shown(world)["tenant_usage"]["server_usages"]
    assert (server["hours"], server["ended_at"], server["state"]) == (22, None, "soft-delete")
    ran(world, 2, 8, project_id="other", **away)
    (reclaimed,) = shown(world, "other", token="bob:other")["tenant_usage"]["server_usages"]
    assert (reclaimed["hours"], reclaimed["state"]) == (6, "terminated")


@pytest.mark.parametrize("path", [PATH, "/v2.1/ops/os-simple-tenant-usage"])
def test_a_project_without_a_name_is_not_found(world, path):
    assert world.client.get(f"{path}?{PERIOD}").status_code == 200
    assert world.client.get(f"{path}/?{PERIOD}").status_code == 404


def test_servers_are_told_of_in_detail(world):
    gone = ran(world, 6, 9, display_name="gone", uuid=uuids(2)[0])
    here = ran(world, -1, display_name="here", uuid=uuids(2)[1])
    first, second = shown(world)["tenant_usage"]["server_usages"]
    assert first == {
        "ended_at": "2026-01-10T09:00:00.000000",
        "flavor": "m1.big",
        "hours": 3.0,
        "instance_id": gone.uuid,
        "local_gb": 15,
        "memory_mb": 1024,
        "name": "gone",
        "started_at": "2026-01-10T06:00:00.000000",
        "state": "terminated",
        "tenant_id": "project",
        "uptime": 3 * 3600,
        "vcpus": 2,
    }
    assert (second["instance_id"], second["ended_at"]) == (here.uuid, None)
    assert (second["state"], second["hours"]) == ("active", 24.0)
    assert second["uptime"] > 25 * 3600


def test_a_list_tells_of_servers_if_asked(world):
    ran(world, 1)
    for query, told in (("", False), ("&detailed=1", True), ("&detailed=0", False)):
        (usage,) = listed(world, PERIOD + query)["tenant_usages"]
        assert ("server_usages" in usage) == told


def test_projects_are_told_apart(world):
    ran(world, 6, project_id="b")
    ran(world, 12, project_id="a", cell=CELL2)
    ran(world, 12, project_id="b", cell=CELL2)
    usages = listed(world)["tenant_usages"]
    assert [(one["tenant_id"], one["total_hours"]) for one in usages] == [("a", 12.0), ("b", 30.0)]
    assert shown(world, "a", token="admin:ops")["tenant_usage"]["total_hours"] == 12.0


@pytest.mark.parametrize(
    "query",
    ["start=yesterday", "end=2026", "start=2026-13-01T00:00:00", "start=9999-01-01T00:00:00"],
)
@pytest.mark.parametrize("path", [PATH, f"{PATH}/project"])
def test_times_that_cannot_be_meant_are_refused(world, path, query):
    assert world.client.get(f"{path}?{query}").json["badRequest"]["message"]


def test_a_period_is_now_unless_it_is_said(world):
    ran(world, 0)
    (usage,) = listed(world, "start=2026-01-10T00:00:00")["tenant_usages"]
    assert usage["total_hours"] > 24
    (usage,) = listed(world, "")["tenant_usages"]
    assert (usage["total_hours"], usage["start"]) == (0.0, usage["stop"])


def test_nothing_is_counted_that_is_still_to_come(world):
    now = datetime.datetime.now(datetime.UTC)
    world.place(launched_at=now - datetime.timedelta(minutes=21), **ACTIVE)
    today = f"{now - datetime.timedelta(days=1):%Y-%m-%dT%H:%M:%S}"
    for end in (now + datetime.timedelta(hours=20), now + datetime.timedelta(days=400)):
        query = f"start={today}&end={end:%Y-%m-%dT%H:%M:%S}"
        for usage in (
            listed(world, query)["tenant_usages"][0],
            shown(world, query=query)["tenant_usage"],
        ):
            assert usage["total_hours"] == pytest.approx(0.35, abs=0.05)
            assert usage["stop"] < f"{now + datetime.timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}"


def test_a_period_that_is_still_to_come_has_no_hours(world):
    ran(world, 1)
    (usage,) = listed(world, "start=2999-01-01T00:00:00&end=2999-01-02T00:00:00")["tenant_usages"]
    assert (usage["total_hours"], usage["start"]) == (0.0, usage["stop"])


@pytest.mark.parametrize("path", [PATH, f"{PATH}/project"])
def test_a_period_does_not_end_before_it_begins(world, path):
    query = "start=2026-01-11T00:00:00&end=2026-01-10T00:00:00"
    assert world.client.get(f"{path}?{query}").status_code == 400


def pages(world, path, name, *, version="2.40"):
    """Follow the links from page to page; return the pages."""
    found = []
    while path:
        answer = world.client.get(path, version=version).json
        found.append(answer[name])
        links = answer.get(f"{name}_links", [])
        path = links[0]["href"].removeprefix("http://falconframework.org") if links else None
    return found


def test_pages_are_linked_since_2_40(world):
    for number, uuid in enumerate(uuids(5)):
        project = "a" if number < 3 else "b"
        ran(world, 1, uuid=uuid, project_id=project, cell=(CELL1, CELL2)[number % 2])
    found = pages(world, f"{PATH}?{PERIOD}&detailed=1&limit=2", "tenant_usages")
    servers = [
        [(one["tenant_id"], each["instance_id"]) for one in page for each in one["server_usages"]]
        for page in found
    ]
    a, b = [("a", uuid) for uuid in uuids(3)], [("b", uuid) for uuid in uuids(5)[3:]]
    assert servers == [a[:2], [a[2], b[0]], b[1:]]
    assert len(listed(world, f"{PERIOD}&limit=2", version="2.39")["tenant_usages"]) == 2


def test_a_deleted_server_is_a_marker_too(world):
    first = ran(world, 1, 2, uuid=uuids(2)[0])
    ran(world, 1, uuid=uuids(2)[1], cell=CELL2)
    (usage,) = listed(world, f"{PERIOD}&marker={first.uuid}&detailed=1", version="2.40")[
        "tenant_usages"
    ]
    assert [one["instance_id"] for one in usage["server_usages"]] == uuids(2)[1:]


@pytest.mark.parametrize("marker", ["x", CELL1])
def test_a_marker_that_is_not_there_is_refused(world, marker):
    answer = world.client.get(f"{PATH}?marker={marker}", version="2.40")
    assert answer.json["badRequest"]["message"] == f"marker [{marker}] not found"
    assert world.client.get(f"{PATH}?marker={marker}", version="2.39").status_code == 200


def test_each_cell_is_asked_once(world):
    for uuid in uuids(4):
        ran(world, 1, uuid=uuid)
    listed(world)
    with count_statements(world) as counted:
        listed(world)
    assert counted.count == 2, counted.seen
    with count_statements(world) as counted:
        listed(world, f"{PERIOD}&marker={uuids(1)[0]}", version="2.40")
    assert counted.count == 4, counted.seen


def test_what_ran_in_a_cell_that_is_away_is_missing(world):
    ran(world, 12)
    ran(world, 12, cell=CELL2)
    take_away(world)
    assert listed(world)["tenant_usages"][0]["total_hours"] == 12.0
    assert shown(world)["tenant_usage"]["total_hours"] == 12.0


def test_a_marker_whose_cell_is_away_is_waited_for(world):
    server = ran(world, 12, cell=CELL2)
    take_away(world)
    answer = world.client.get(f"{PATH}?marker={server.uuid}", version="2.40")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
