import datetime
import uuid

import pytest

from roost import states
from roost.db.cell import services
from tests.builders import CELL1, CELL2, NOW, a_report
from tests.fakes.service_groups import age

ROOT = "/v2.1/os-hypervisors"
_AMOUNTS = {
    "vcpus": 10,
    "vcpus_used": 4,
    "memory_mb": 16384,
    "memory_mb_used": 1536,
    "free_ram_mb": 14848,
    "local_gb": 100,
    "local_gb_used": 8,
    "free_disk_gb": 92,
    "disk_available_least": 92,
    "current_workload": 2,
    "running_vms": 3,
}


@pytest.fixture(autouse=True)
def _reports(world):
    """Let h1 have much to tell, and nobody else."""
    busy = a_report(
        "h1",
        node="node1.example",
        vcpus=8,
        pcpus=2,
        vcpus_reserved=1,
        vcpus_used=2,
        pcpus_used=1,
        memory_mb_used=1024,
        memory_mb_reserved=512,
        disk_gb_used=7,
        disk_gb_reserved=1,
        instances_used=3,
        io_operations=2,
        hypervisor_type="QEMU",
        hypervisor_version=8002000,
        host_ip="192.0.2.1",
        cpu_info='{"arch": "x86_64"}',
        booted_at=NOW,
    )
    world.scheduler.reports = [busy, a_report("h2", node="Node2", cell_uuid=CELL2)]
    now = NOW + datetime.timedelta(days=93, hours=18, minutes=25)
    object.__setattr__(world.parts, "now", lambda: now)


@pytest.fixture
def node(world):
    return world.scheduler.reports[0].node_uuid


def _get(world, path="", version="2.96", **more):
    return world.client.get(ROOT + path, version=version, **more)


def _listed(world, path="", version="2.96"):
    answer = _get(world, path, version)
    assert answer.status_code == 200, answer.text
    return answer.json["hypervisors"]


def _names(world, path="", version="2.96"):
    return [one["hypervisor_hostname"] for one in _listed(world, path, version)]


def test_the_nodes_of_all_cells_are_listed(world, node):
    first, second = _listed(world)
    assert first == {
        "id": node,
        "hypervisor_hostname": "node1.example",
        "state": "up",
        "status": "enabled",
    }
    assert second["hypervisor_hostname"] == "Node2"


def test_the_answer_of_a_show_is_that_of_a_list_with_details(world, node):
    for version in ("2.53", "2.87", "2.96"):
        shown = _get(world, f"/{node}", version).json["hypervisor"]
        assert shown == _listed(world, "/detail", version)[0]


def test_amounts_are_told_until_2_87(world, node):
    shown = _get(world, f"/{node}", "2.87").json["hypervisor"]
    assert {name: shown[name] for name in _AMOUNTS} == _AMOUNTS
    assert shown["cpu_info"] == {"arch": "x86_64"}
    assert "uptime" not in shown


def test_since_2_88_there_is_an_uptime_and_no_amounts(world, node):
    shown = _get(world, f"/{node}", "2.88").json["hypervisor"]
    (service,) = world.client.get("/v2.1/os-services?host=h1", version="2.88").json["services"]
    assert shown == {
        "id": node,
        "hypervisor_hostname": "node1.example",
        "state": "up",
        "status": "enabled",
        "host_ip": "192.0.2.1",
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002000,
        "service": {"host": "h1", "id": service["id"], "disabled_reason": None},
        "uptime": " 21:29:05 up 93 days, 18:25",
    }


@pytest.mark.parametrize("nonsense", ["", "{", "[1]", "null"])
def test_a_host_that_talks_nonsense_of_its_cpus_does_not_silence_the_others(world, nonsense):
    world.scheduler.reports[1].cpu_info = nonsense
    assert [one["cpu_info"] for one in _listed(world, "/detail", "2.28")][1] == {}
    assert [one["cpu_info"] for one in _listed(world, "/detail", "2.27")][1] == "{}"


def test_ids_are_small_numbers_before_2_53_and_stay_the_same(world, node):
    (one, _) = _listed(world, version="2.52")
    assert one["id"] == uuid.UUID(node).int % 2**31
    shown = _get(world, f"/{one['id']}", "2.1").json["hypervisor"]
    assert shown["hypervisor_hostname"] == "node1.example"
    (service,) = world.client.get("/v2.1/os-services?host=h1", version="2.52").json["services"]
    assert shown["service"]["id"] == service["id"]


def test_the_id_of_a_node_follows_from_its_names():
    assert a_report("h1").node_uuid == a_report("h1", vcpus=99).node_uuid
    assert a_report("h1").node_uuid != a_report("h1", node="other").node_uuid
    assert a_report("a", node="bc").node_uuid != a_report("ab", node="c").node_uuid


@pytest.mark.parametrize(
    ("path", "version", "status"),
    [
        ("/nonsense", "2.52", 404),
        ("/7", "2.52", 404),
        ("/7", "2.53", 400),
        (f"/{uuid.UUID(int=7)}", "2.53", 404),
        ("/nonsense/uptime", "2.52", 404),
        ("/nonsense/uptime", "2.87", 400),
        (f"/{uuid.UUID(int=7)}/uptime", "2.87", 404),
    ],
)
def test_a_node_that_is_not_there_is_not_shown(world, path, version, status):
    assert _get(world, path, version).status_code == status


def test_a_node_whose_service_is_silent_is_down(world):
    with world.databases[CELL1].begin() as session:
        age(session, 61)
    assert [one["state"] for one in _listed(world)] == ["down", "up"]
    assert _listed(world, "/detail")[0]["uptime"] is None


def test_a_node_whose_service_is_disabled_says_why(world):
    with world.databases[CELL1].begin() as session:
        (service,) = services.list_services(session)
        services.update(session, service.uuid, disabled=True, disabled_reason="disk")
    shown = _listed(world, "/detail")[0]
    assert shown["status"] == "disabled"
    assert shown["service"]["disabled_reason"] == "disk"


def test_without_a_service_the_schedulers_word_counts(world):
    world.scheduler.reports.append(a_report("h3", up=False, enabled=False))
    shown = _listed(world, "/detail")[2]
    assert (shown["state"], shown["status"]) == ("down", "disabled")
    assert shown["service"] == {"host": "h3", "id": None, "disabled_reason": None}


# uptime as a path


def test_the_uptime_has_its_own_path_until_2_87(world, node):
    assert _get(world, f"/{node}/uptime", "2.87").json == {
        "hypervisor": {
            "id": node,
            "hypervisor_hostname": "node1.example",
            "state": "up",
            "status": "enabled",
            "uptime": " 21:29:05 up 93 days, 18:25",
        }
    }
    assert _get(world, f"/{node}/uptime", "2.88").status_code == 404


@pytest.mark.parametrize(
    ("users", "told"),
    [(12, "12 users"), (1, " 1 user"), (0, " 0 users")],
)
def test_the_uptime_tells_how_busy_a_node_is_that_says_so(world, node, users, told):
    report = world.scheduler.reports[0]
    report.load_average, report.users = [0.2, 0.123, 14], users
    shown = _get(world, f"/{node}").json["hypervisor"]["uptime"]
    assert shown == f" 21:29:05 up 93 days, 18:25, {told},  load average: 0.20, 0.12, 14.00"


def test_a_driver_need_not_tell_the_uptime(world):
    node = world.scheduler.reports[1].node_uuid
    assert _get(world, f"/{node}/uptime", "2.87").status_code == 501
    assert _get(world, f"/{node}", "2.88").json["hypervisor"]["uptime"] is None


# statistics


def test_statistics_sum_up_what_is_enabled_until_2_87(world):
    sums = _get(world, "/statistics", "2.87").json["hypervisor_statistics"]
    assert sums == {
        "count": 2,
        **{name: value for name, value in _AMOUNTS.items() if "used" in name},
        "vcpus": 18,
        "vcpus_used": 4,
        "memory_mb": 32768,
        "free_ram_mb": 31232,
        "local_gb": 200,
        "free_disk_gb": 192,
        "disk_available_least": 192,
        "current_workload": 2,
        "running_vms": 3,
    }
    assert _get(world, "/statistics", "2.88").status_code == 404


def test_a_disabled_node_does_not_count(world):
    with world.databases[CELL1].begin() as session:
        (service,) = services.list_services(session)
        services.update(session, service.uuid, disabled=True)
    sums = _get(world, "/statistics", "2.1").json["hypervisor_statistics"]
    assert (sums["count"], sums["running_vms"]) == (1, 0)


# names and servers


@pytest.mark.parametrize(("pattern", "found"), [("node1", 1), ("NODE", 2), ("h1", 0), ("%", 0)])
def test_nodes_are_searched_by_a_part_of_their_name(world, pattern, found):
    old = _get(world, f"/{pattern.replace('%', '%25')}/search", "2.52")
    new = _get(world, "", "2.53", params={"hypervisor_hostname_pattern": pattern})
    for answer in (old, new):
        assert answer.status_code == (200 if found else 404)
        assert len(answer.json.get("hypervisors", [])) == found


def test_a_search_has_no_pages(world):
    for more in ("limit=1", "marker=x"):
        path = f"?hypervisor_hostname_pattern=node&{more}"
        assert _get(world, path).status_code == 400


@pytest.fixture
def server(world):
    resting = {"vm_state": states.ACTIVE, "task_state": None}
    world.place(host="h2", cell_uuid=CELL2, display_name="elsewhere", **resting)
    return world.place(host="h1", node="node1.example", display_name="web", **resting)


def test_servers_were_listed_by_a_path(world, server):
    (shown,) = _listed(world, "/node1/servers", "2.52")
    assert shown["servers"] == [{"uuid": server.uuid, "name": "web"}]


@pytest.mark.parametrize("path", ["", "/detail"])
def test_servers_are_listed_if_asked_for(world, server, path):
    assert [
        [one["name"] for one in node["servers"]]
        for node in _listed(world, f"{path}?with_servers=true", "2.53")
    ] == [["web"], ["elsewhere"]]
    assert "servers" not in _listed(world, path, "2.96")[0]


# pages


def test_nodes_come_in_pages_since_2_33(world):
    world.scheduler.reports = [a_report(f"h{number}") for number in range(1, 6)]
    for version in ("2.33", "2.96"):
        seen, path = [], "?limit=2"
        while path:
            answer = _get(world, path, version).json
            seen.append([one["hypervisor_hostname"] for one in answer["hypervisors"]])
            links = answer.get("hypervisors_links", [])
            path = links[0]["href"].split("os-hypervisors")[1] if links else None
        assert seen == [["h1", "h2"], ["h3", "h4"], ["h5"]]


def test_a_page_has_the_other_nodes_of_its_last_host_too(world):
    world.scheduler.reports = [a_report("h1", node=name) for name in "ab"] + [a_report("h2")]
    first = _get(world, "?limit=1").json
    assert [one["hypervisor_hostname"] for one in first["hypervisors"]] == ["a", "b"]
    marker = first["hypervisors"][-1]["id"]
    assert _names(world, f"?limit=1&marker={marker}") == ["h2"]


@pytest.mark.parametrize(
    ("query", "version"),
    [
        ("marker=nonsense", "2.33"),
        ("marker=7", "2.33"),
        ("marker=7", "2.53"),
        (f"marker={uuid.UUID(int=7)}", "2.53"),
        ("limit=x", "2.33"),
        ("with_servers=x", "2.53"),
        ("surprise=1", "2.75"),
    ],
)
def test_a_bad_query_is_refused(world, query, version):
    assert _get(world, f"?{query}", version).status_code == 400
