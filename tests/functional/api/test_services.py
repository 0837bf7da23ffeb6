import pytest

from roost.api.compute import service_views as views
from roost.db.api import aggregates, cells
from roost.db.cell import services
from tests.api_harness import ALICE, count_statements
from tests.builders import CELL1, CELL2, NOW, a_report
from tests.fakes.service_groups import FakeGroup, age


def _listed(world, query="", version="2.53"):
    """List the daemons that report to a cell."""
    listed = world.client.get(f"/v2.1/os-services{query}", version=version).json["services"]
    return [one for one in listed if one["host"] != views.SCHEDULERS]


def _update(world, body, host="h1"):
    (service,) = _listed(world, f"?host={host}")
    return world.client.put(f"/v2.1/os-services/{service['id']}", body, version="2.53")


def test_the_daemons_of_all_cells_are_listed(world):
    assert [(one["host"], one["state"], one["status"]) for one in _listed(world)] == [
        ("h1", "up", "enabled"),
        ("h2", "up", "enabled"),
    ]


@pytest.mark.parametrize(
    ("query", "hosts"), [("?host=h2", ["h2"]), ("?binary=nothing", []), ("?host=", ["h1", "h2"])]
)
def test_daemons_are_listed_by_host_and_binary(world, query, hosts):
    assert [one["host"] for one in _listed(world, query)] == hosts


def test_computes_are_found_by_the_name_that_clients_know(world):
    found = _listed(world, "?binary=nova-compute")
    assert [(one["host"], one["binary"]) for one in found] == [
        ("h1", "nova-compute"),
        ("h2", "nova-compute"),
    ]


def test_they_are_changed_by_it_in_the_old_way(client):
    body = {"host": "h1", "binary": "nova-compute"}
    answer = client.put("/v2.1/os-services/disable", body)
    assert answer.json["service"] == {**body, "status": "disabled"}


@pytest.mark.parametrize("query", ["", "?binary=nova-scheduler", "?host=schedulers"])
def test_schedulers_are_one_daemon_that_is_up_while_any_answers(world, query):
    def schedulers():
        return world.client.get(f"/v2.1/os-services{query}", version="2.53").json["services"][-1]

    assert (schedulers()["binary"], schedulers()["state"]) == ("nova-scheduler", "up")
    world.scheduler.away = True
    assert (schedulers()["state"], schedulers()["updated_at"]) == ("down", None)


@pytest.mark.parametrize("version", ["2.1", "2.53"])
def test_schedulers_are_not_changed(client, version):
    listed = client.get("/v2.1/os-services?binary=nova-scheduler", version=version)
    (one,) = listed.json["services"]
    path = f"/v2.1/os-services/{one['id']}"
    assert client.delete(path, version=version).status_code == 400
    assert client.put(path, {"status": "disabled"}, version="2.53").status_code == 400


def test_a_silent_daemon_is_down(world):
    with world.databases[CELL1].begin() as session:
        age(session, 61)
    assert [one["state"] for one in _listed(world)] == ["down", "up"]


def test_who_is_up_is_for_the_service_group_to_say(world):
    object.__setattr__(world.parts, "service_group", FakeGroup("h2"))
    assert [one["state"] for one in _listed(world)] == ["down", "up"]


def test_disabling_a_host_tells_its_row_and_the_scheduler_and_waits_for_no_host(world):
    answer = _update(world, {"status": "disabled", "disabled_reason": "disk"}, host="h2")
    assert answer.json["service"]["disabled_reason"] == "disk"
    with world.databases[CELL2].read() as session:
        assert services.list_services(session, hosts=["h2"])[0].disabled
    assert world.scheduler.enabled == {"h2": False}
    assert world.buses["fake://cell2/"].sent == []


def test_each_word_on_a_host_counts_more_than_the_one_before(world):
    for status in ("disabled", "enabled", "disabled"):
        _update(world, {"status": status})
    said, versions = zip(*world.scheduler.words, strict=True)
    assert said == (False, True, False)
    assert 0 < versions[0] < versions[1] < versions[2]


def test_enabling_it_again_forgets_the_reason(world):
    _update(world, {"status": "disabled", "disabled_reason": "disk"})
    shown = _update(world, {"status": "enabled"}).json["service"]
    assert (shown["status"], shown["disabled_reason"]) == ("enabled", None)
    assert world.scheduler.enabled == {"h1": True}


def test_a_scheduler_that_is_away_learns_it_later(world):
    world.scheduler.away = True
    assert _update(world, {"status": "disabled"}).json["service"]["status"] == "disabled"


def test_a_daemon_can_be_declared_down(world):
    assert _update(world, {"forced_down": True}).json["service"]["state"] == "down"


def test_only_computes_are_disabled(world):
    with world.databases[CELL1].begin() as session:
        services.report(session, host="c1", binary="roost-cell-conductor")
    assert _update(world, {"status": "disabled"}, host="c1").status_code == 400


@pytest.mark.parametrize(
    "body", [{}, {"status": "on"}, {"disabled_reason": "x"}, {"forced_down": "maybe"}]
)
def test_a_bad_update_is_refused(world, body):
    assert _update(world, body).status_code == 400


def test_cells_look_for_the_one_daemon_that_is_to_be_changed(world):
    with count_statements(world) as counted:
        assert _update(world, {"status": "enabled"}).status_code == 200
    asked = [one for one in counted.seen if "FROM services" in one]
    assert asked
    assert [one for one in asked if "WHERE" not in one] == []


@pytest.mark.parametrize(("identity", "status"), [("1", 400), ("f" * 32, 404)])
def test_a_daemon_that_is_not_there_cannot_be_changed(client, identity, status):
    path = f"/v2.1/os-services/{identity}"
    assert client.put(path, {"status": "enabled"}, version="2.53").status_code == status


@pytest.mark.parametrize(
    ("todo", "more", "shown"),
    [
        ("disable", {}, {"status": "disabled"}),
        (
            "disable-log-reason",
            {"disabled_reason": "x"},
            {"status": "disabled", "disabled_reason": "x"},
        ),
        ("enable", {}, {"status": "enabled"}),
        ("force-down", {"forced_down": True}, {"forced_down": True}),
    ],
)
def test_the_path_said_what_to_do_before_2_53(client, todo, more, shown):
    body = {"host": "h1", "binary": "roost-compute"} | more
    answer = client.put(f"/v2.1/os-services/{todo}", body, version="2.11")
    assert answer.json["service"] == {"host": "h1", "binary": "roost-compute"} | shown


@pytest.mark.parametrize(
    ("todo", "host", "status"),
    [("dance", "h1", 404), ("enable", "h9", 404), ("disable-log-reason", "h1", 400)],
)
def test_the_old_way_refuses_what_is_unknown(client, todo, host, status):
    body = {"host": host, "binary": "roost-compute"}
    assert client.put(f"/v2.1/os-services/{todo}", body, version="2.11").status_code == status


def _delete(world, host="h1", version="2.53"):
    (service,) = _listed(world, f"?host={host}", version)
    return world.client.delete(f"/v2.1/os-services/{service['id']}", version=version)


@pytest.mark.parametrize("version", ["2.1", "2.52", "2.53", "2.96"])
def test_with_its_compute_a_host_goes_for_good(world, version):
    with world.api_db.begin() as session:
        aggregate = aggregates.create(session, "fast", metadata={})
        aggregates.add_host(session, aggregate.id, "h1")
    assert _delete(world, version=version).status_code == 204
    assert [one["host"] for one in _listed(world)] == ["h2"]
    assert [report.host for report in world.scheduler.reports] == ["h2"]
    with world.api_db.read() as session:
        assert [mapping.host for mapping in cells.list_hosts(session)] == ["h2"]
        assert aggregates.get(session, aggregate.id).hosts == []
    assert [told.hosts for told in world.scheduler.aggregates] == [[]]


def test_a_compute_with_servers_stays(world):
    world.place(host="h1")
    assert _delete(world).status_code == 409
    assert {one["host"] for one in _listed(world)} == {"h1", "h2"}
    assert [report.host for report in world.scheduler.reports] == ["h1", "h2"]


def test_a_deleted_server_keeps_no_compute(world):
    world.place(host="h1", deleted_at=NOW)
    assert _delete(world).status_code == 204


def test_a_compute_that_holds_claims_stays(world):
    world.scheduler.claimed.add("h1")
    assert _delete(world).status_code == 409
    with world.api_db.read() as session:
        assert cells.find_host(session, "h1")


def test_a_deletion_that_was_cut_short_may_be_repeated(world):
    world.scheduler.away = True
    assert _delete(world).status_code == 503
    world.scheduler.away = False
    world.scheduler.reports.clear()
    with world.api_db.begin() as session:
        cells.unmap_host(session, "h1")
    assert _delete(world).status_code == 204
    assert [one["host"] for one in _listed(world)] == ["h2"]


def test_any_other_daemon_goes_alone(world):
    with world.databases[CELL1].begin() as session:
        services.report(session, host="h1", binary="roost-cell-conductor")
    (service,) = _listed(world, "?binary=roost-cell-conductor")
    answer = world.client.delete(f"/v2.1/os-services/{service['id']}", version="2.53")
    assert answer.status_code == 204
    assert [one["binary"] for one in _listed(world, "?host=h1")] == ["nova-compute"]
    assert len(world.scheduler.reports) == 2


@pytest.mark.parametrize(
    ("identity", "version", "status"),
    [
        ("7", "2.52", 404),
        ("f" * 32, "2.52", 400),
        ("7", "2.53", 400),
        ("f" * 32, "2.53", 404),
    ],
)
def test_a_daemon_that_is_not_there_is_not_deleted(client, identity, version, status):
    path = f"/v2.1/os-services/{identity}"
    assert client.delete(path, version=version).status_code == status


def test_a_number_that_two_daemons_share_names_none(world, monkeypatch):
    monkeypatch.setattr(views, "number", lambda _service: 7)
    assert world.client.delete("/v2.1/os-services/7", version="2.52").status_code == 400
    assert len(_listed(world)) == 2


def test_zones_are_what_the_hosts_say(world):
    world.scheduler.reports.append(a_report("h3", availability_zone="west", enabled=False))
    zones = world.client.get("/v2.1/os-availability-zone", token=ALICE).json
    assert [
        (zone["zoneName"], zone["zoneState"]["available"], zone["hosts"])
        for zone in zones["availabilityZoneInfo"]
    ] == [("east", True, None), ("nova", True, None), ("west", False, None)]


def test_many_who_look_at_zones_ask_the_schedulers_once(world, monkeypatch):
    asked, ask = [], world.scheduler.all_hosts
    monkeypatch.setattr(
        world.scheduler, "all_hosts", lambda *args: (asked.append(1), ask(*args))[1]
    )
    answers = [world.client.get("/v2.1/os-availability-zone", token=ALICE) for _ in range(5)]
    assert all(answer.json == answers[0].json for answer in answers)
    assert len(asked) == 1
