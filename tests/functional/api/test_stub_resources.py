"""What clients look at beside servers, and find to be as good as empty here."""

import datetime

import pytest

from roost.api.legacy.extensions import SERVED
from roost.api.legacy.removed import GONE
from roost.standalone.tables import ROUTES
from tests.api_harness import ALICE, PRIVATE
from tests.builders import CELL1, a_uuid

AUDITS = "/v2.1/os-instance_usage_audit_log"
MIGRATIONS = "/v2.1/os-migrations"


@pytest.fixture
def client(shared):
    return shared.client


def test_no_host_audits_usage(client):
    assert client.get(f"{AUDITS}/2026-03-15 10:00:00").json == {
        "instance_usage_audit_log": {
            "hosts_not_run": ["h1", "h2"],
            "log": {},
            "num_hosts": 2,
            "num_hosts_done": 0,
            "num_hosts_not_run": 2,
            "num_hosts_running": 0,
            "overall_status": "0 of 2 hosts done. 0 errors.",
            "period_beginning": "2026-02-01 00:00:00",
            "period_ending": "2026-03-01 00:00:00",
            "total_errors": 0,
            "total_instances": 0,
        }
    }


def test_the_last_audit_is_of_the_last_month(client):
    log = client.get(AUDITS).json["instance_usage_audit_logs"]
    today = datetime.datetime.now(datetime.UTC)
    assert log["period_ending"] == f"{today:%Y-%m}-01 00:00:00"


@pytest.mark.parametrize(
    ("before", "beginning"),
    [
        ("2026-03-01 00:00:00", "2026-01-01 00:00:00"),
        ("2026-03-01 00:00:00.1", "2026-02-01 00:00:00"),
        ("2026-01-31 00:00:00", "2025-12-01 00:00:00"),
    ],
)
def test_an_audit_is_of_the_month_that_was_over_before(client, before, beginning):
    log = client.get(f"{AUDITS}/{before}").json["instance_usage_audit_log"]
    assert log["period_beginning"] == beginning


@pytest.mark.parametrize(
    "before", ["x", "2026-03-01", "2026-13-01 00:00:00", "0001-01-01 00:00:00"]
)
def test_a_time_that_is_none_is_refused(client, before):
    answer = client.get(f"{AUDITS}/{before}")
    assert answer.json["badRequest"]["message"] == f"Invalid timestamp for date {before}"


@pytest.mark.parametrize(
    ("version", "query"),
    [
        ("2.1", "?host=h1&status=done&x=1&marker=a"),
        ("2.23", "?migration_type=resize"),
        ("2.58", "?limit=5"),
        ("2.59", "?limit=5&changes-since=2026-01-01T00:00:00"),
        ("2.66", "?changes-since=2026-01-01T00:00:00&changes-before=2026-01-01T00:00:00"),
        ("2.80", "?user_id=a&project_id=b"),
    ],
)
def test_there_are_no_migrations(client, version, query):
    assert client.get(MIGRATIONS + query, version=version).json == {"migrations": []}


def test_a_server_has_no_migrations(shared):
    server = shared.place(uuid=a_uuid())
    path = f"/v2.1/servers/{server.uuid}/migrations"
    assert shared.client.get(path, version="2.23").json == {"migrations": []}
    answer = shared.client.get(f"{path}/1", version="2.23")
    assert answer.json["itemNotFound"]["message"] == (
        f"Migration 1 not found for instance {server.uuid}."
    )
    for gone in (path, f"{path}/1"):
        assert shared.client.get(gone, version="2.22").status_code == 404


def test_a_server_that_is_not_there_has_no_list_of_migrations(client):
    path = f"/v2.1/servers/{CELL1}/migrations"
    for gone in (path, f"{path}/1"):
        message = client.get(gone, version="2.23").json["itemNotFound"]["message"]
        assert message == f"Instance {CELL1} could not be found."


@pytest.mark.parametrize("version", ["2.1", "2.104"])
def test_a_server_has_no_volumes_and_gets_none(shared, version):
    path = f"/v2.1/servers/{shared.place(uuid=a_uuid()).uuid}/os-volume_attachments"
    listed = shared.client.get(f"{path}?limit=5&offset=0", token=ALICE, version=version)
    assert listed.json == {"volumeAttachments": []}
    assert shared.client.get(f"{path}/{CELL1}", version=version).status_code == 404
    for method, one in (("POST", path), ("PUT", f"{path}/{CELL1}"), ("DELETE", f"{path}/{CELL1}")):
        answer = shared.client.ask(method, one, version=version, json={})
        assert answer.json["notImplemented"]["message"] == "This cloud has no volumes."
    gone = f"/v2.1/servers/{CELL1}/os-volume_attachments"
    assert shared.client.get(gone, version=version).status_code == 404


def test_former_extensions_are_listed(client):
    found = client.get("/v2.1/extensions", token=ALICE).json["extensions"]
    assert [one["alias"] for one in found] == sorted(SERVED)
    assert {
        "name": "Quotas",
        "alias": "os-quota-sets",
        "description": "Quotas of projects.",
        "links": [],
        "namespace": "http://docs.openstack.org/compute/ext/fake_xml",
        "updated": "2014-12-03T00:00:00Z",
    } in found


def test_one_former_extension_is_shown(client):
    shown = client.get("/v2.1/extensions/os-services", token=ALICE).json["extension"]
    assert (shown["alias"], shown["name"]) == ("os-services", "Services")
    assert client.get("/v2.1/extensions/os-cells").status_code == 404


def test_every_route_of_an_extension_has_its_alias():
    nouns = {word for route in ROUTES for word in route.path.split("/") if word.startswith("os-")}
    assert nouns - {"os-extra_specs", "os-volume_attachments"} <= set(SERVED)


@pytest.mark.parametrize("version", ["2.1", "2.96"])
@pytest.mark.parametrize(("path", "methods"), GONE.items())
def test_what_was_given_up_is_gone_in_every_microversion(client, path, methods, version):
    for method in methods:
        answer = client.ask(method, path.replace("{", "").replace("}", ""), version=version)
        assert answer.status_code == 410
        assert answer.json == {
            "computeFault": {
                "code": 410,
                "message": "This resource is no longer available. No forwarding address is given.",
            }
        }


def test_nothing_is_served_that_is_gone():
    gone = {(path, method) for path, methods in GONE.items() for method in methods}
    assert gone.isdisjoint((route.path, route.method) for route in ROUTES)


def test_administrators_are_told_more_of_a_network(client):
    path = f"/v2.1/os-networks/{PRIVATE.id}"
    shown = client.get(path, version="2.35", token=ALICE).json["network"]
    assert shown == {
        "id": PRIVATE.id,
        "label": "private",
        "broadcast": "10.0.0.255",
        "cidr": "10.0.0.0/24",
        "cidr_v6": None,
        "dns1": None,
        "dns2": None,
        "gateway": "10.0.0.1",
        "gateway_v6": None,
        "netmask": "255.255.255.0",
        "netmask_v6": None,
    }
    more = client.get(path).json["network"]
    assert set(more) > set(shown)
    assert more["bridge"] is None
    assert client.get("/v2.1/os-networks").json == {"networks": [more]}


def test_projects_see_their_networks(client):
    shown = {"cidr": "10.0.0.0/24", "id": PRIVATE.id, "label": "private"}
    path = "/v2.1/os-tenant-networks"
    assert client.get(path, token=ALICE).json == {"networks": [shown]}
    assert client.get(f"{path}/{PRIVATE.id}", token=ALICE).json == {"network": shown}


@pytest.mark.parametrize("noun", ["os-networks", "os-tenant-networks"])
def test_a_network_that_is_not_there_is_not_found(client, noun):
    answer = client.get(f"/v2.1/{noun}/{CELL1}")
    assert answer.json["itemNotFound"]["message"] == "Network not found"


def test_local_networks_have_no_floating_addresses(client):
    path = "/v2.1/os-floating-ips"
    assert client.get(path, token=ALICE).json == {"floating_ips": []}
    assert client.get("/v2.1/os-floating-ip-pools").json == {"floating_ip_pools": []}
    for answer in (client.get(f"{path}/7"), client.delete(f"{path}/7")):
        assert answer.json["itemNotFound"]["message"] == "Floating IP not found for ID 7"
    assert client.post(path, {"pool": "public"}, token=ALICE).status_code == 404
    assert client.post(path, {"x": "public"}, token=ALICE).status_code == 400
