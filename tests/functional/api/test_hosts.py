"""Hosts as clients of Compute saw them before 2.43."""

import pytest

from tests.builders import CELL1, CELL2, a_flavor

HOSTS = "/v2.1/os-hosts"


def _listed(client, query=""):
    return client.get(f"{HOSTS}{query}").json["hosts"]


def test_daemons_are_listed_by_host(client):
    assert [(one["host_name"], one["service"]) for one in _listed(client)] == [
        ("h1", "compute"),
        ("h2", "compute"),
    ]


def test_they_may_be_of_one_zone(client):
    zone = _listed(client)[0]["zone"]
    assert [one["zone"] for one in _listed(client, f"?zone={zone}")] == [zone] * 2
    assert _listed(client, "?zone=elsewhere") == []
    assert _listed(client, "?zone=") == _listed(client)


def test_a_host_tells_what_it_has_and_who_uses_it(world):
    small, large = (a_flavor(vcpus=n, memory_mb=512 * n, root_gb=n, ephemeral_gb=1) for n in (1, 2))
    world.place(CELL1, host="h1", flavor=small, project_id="blue")
    world.place(CELL1, host="h1", flavor=large, project_id="blue")
    world.place(CELL1, host="h1", flavor=large, project_id="red")
    world.place(CELL2, host="h2", flavor=large, project_id="red")
    (report,) = [one for one in world.scheduler.reports if one.host == "h1"]
    rows = [row["resource"] for row in world.client.get(f"{HOSTS}/h1").json["host"]]
    assert {row.pop("host") for row in rows} == {"h1"}
    by_project = {row.pop("project"): row for row in rows}
    assert by_project == {
        "(total)": {
            "cpu": report.amount("VCPU") + report.amount("PCPU"),
            "memory_mb": report.amount("MEMORY_MB"),
            "disk_gb": report.amount("DISK_GB"),
        },
        "(used_now)": {
            "cpu": report.amount("VCPU", "used")
            + report.amount("VCPU", "reserved")
            + report.amount("PCPU", "used"),
            "memory_mb": report.amount("MEMORY_MB", "used")
            + report.amount("MEMORY_MB", "reserved"),
            "disk_gb": report.amount("DISK_GB", "used") + report.amount("DISK_GB", "reserved"),
        },
        "(used_max)": {"cpu": 5, "memory_mb": 2560, "disk_gb": 8},
        "blue": {"cpu": 3, "memory_mb": 1536, "disk_gb": 5},
        "red": {"cpu": 2, "memory_mb": 1024, "disk_gb": 3},
    }


def test_the_reports_of_other_hosts_are_not_asked_for(world):
    world.client.get(f"{HOSTS}/h2")
    assert world.scheduler.sent == 1


@pytest.mark.parametrize("path", ["", "/startup", "/shutdown", "/reboot"])
def test_a_host_that_there_is_not_is_not_found(client, path):
    assert client.get(f"{HOSTS}/nowhere{path}").status_code == 404


@pytest.mark.parametrize("path", ["startup", "shutdown", "reboot"])
def test_no_host_is_switched_from_afar(client, path):
    assert client.get(f"{HOSTS}/h1/{path}").status_code == 501


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"status": "enable"}, 501),
        ({"maintenance_mode": "disable", "status": "disable"}, 501),
        ({"status": "perhaps"}, 400),
        ({"power": "on"}, 400),
        ({}, 400),
    ],
)
def test_nor_is_it_maintained(client, body, status):
    assert client.put(f"{HOSTS}/h1", body).status_code == status
