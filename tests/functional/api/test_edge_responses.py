"""What clients and Tempest ask for at the edges: names of daemons, version documents, odd paths."""

import json
import logging

import pytest

from roost import conf, states
from roost.api.compute.service_views import NOVA_NAMES
from roost.api.dependencies import ApiOptions
from roost.cmd import _checks, _dependencies, api
from roost.db.cell import services
from tests import api_harness
from tests.api_harness import ALICE, IMAGE
from tests.builders import CELL1
from tests.functional.api.test_services import _listed


def test_daemons_have_the_names_that_clients_look_for(world):
    assert {one["binary"] for one in _listed(world)} == {"nova-compute"}
    for binary in ("nova-compute", "roost-compute"):
        assert {one["binary"] for one in _listed(world, f"?binary={binary}")} == {binary}
    (zone, *_) = world.client.get("/v2.1/os-availability-zone/detail").json["availabilityZoneInfo"]
    assert {name for host in zone["hosts"].values() for name in host} == {"nova-compute"}
    hosts = world.client.get("/v2.1/os-hosts", version="2.1").json["hosts"]
    assert {host["service"] for host in hosts} == {"compute"}


def test_an_operator_may_have_our_own_names(tmp_path):
    configured = _dependencies.api_options(conf.of({"api": {"daemon_names": "roost"}}))
    with api_harness.made_in(tmp_path, configured) as world:
        assert {one["binary"] for one in _listed(world)} == {"roost-compute"}
        (zone, *_) = world.client.get("/v2.1/os-availability-zone/detail").json[
            "availabilityZoneInfo"
        ]
        assert {name for host in zone["hosts"].values() for name in host} == {"roost-compute"}


@pytest.mark.parametrize(("own", "told"), NOVA_NAMES.items())
def test_each_name_that_is_told_finds_those_who_have_it(world, own, told):
    with world.databases[CELL1].begin() as session:
        services.report(session, host="c1", binary="roost-cell-conductor")

    def hosts(name):
        answer = world.client.get(f"/v2.1/os-services?binary={name}")
        return {one["host"] for one in answer.json["services"]}

    assert hosts(own) == hosts(told) != set()


def test_the_versions_are_those_of_compute_the_legacy_one_first(client):
    versions = client.get("/").json["versions"]
    assert [(one["id"], one["status"]) for one in versions] == [
        ("v2.0", "SUPPORTED"),
        ("v2.1", "CURRENT"),
    ]
    legacy = client.get("/v2/").json["version"]
    assert (legacy["id"], legacy["version"], legacy["min_version"]) == ("v2.0", "", "")
    assert legacy["media-types"][0]["type"].endswith("version=2")


def test_v2_knows_no_microversions_and_overlooks_what_it_does_not_know(world):
    body = {"keypair": {"name": "key", "odd": 1}, "odd": {}}
    answer = world.client.post("/v2/os-keypairs", body, token=ALICE, version="2.90")
    assert answer.status_code == 200, answer.text
    assert "OpenStack-API-Version" not in answer.headers
    assert world.client.get("/v2/servers?odd=1", token=ALICE).status_code == 200
    assert world.client.post("/v2.1/os-keypairs", body, token=ALICE).status_code == 400


_FLAVOR = {"name": "NAME", "ram": 1, "vcpus": 1, "disk": 1}
_SERVER = {"name": "NAME", "imageRef": IMAGE, "flavorRef": "1"}


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("servers", {"server": _SERVER}),
        ("servers/{}/action", {"rebuild": {"name": "NAME", "imageRef": IMAGE}}),
        ("servers/{}/action", {"createImage": {"name": "NAME"}}),
        ("flavors", {"flavor": _FLAVOR}),
        ("os-aggregates", {"aggregate": {"name": "NAME"}}),
        ("os-aggregates", {"aggregate": {"name": "a", "availability_zone": "NAME"}}),
        ("os-server-groups", {"server_group": {"name": "NAME", "policies": ["affinity"]}}),
        ("os-keypairs", {"keypair": {"name": "NAME"}}),
    ],
)
def test_blanks_around_a_name_are_refused_and_v2_cuts_them(world, named, path):
    server = world.place(host="h1", vm_state=states.ACTIVE, task_state=None)
    path = path.format(server.uuid)
    body = json.loads(json.dumps(named).replace("NAME", " web "))
    answer = world.client.post(f"/v2.1/{path}", body)
    assert answer.status_code == 400, answer.text
    assert " web " in answer.json["badRequest"]["message"]
    assert world.client.post(f"/v2/{path}", body).status_code in (200, 202)


def test_v2_still_wants_what_must_be_there(world):
    assert world.client.post("/v2/os-keypairs", {"keypair": {}}, token=ALICE).status_code == 400


@pytest.mark.parametrize("path", ["/v2.1/images/", "/v2.1/os-security-groups/", "/v2.1/flavors/"])
def test_a_thing_without_a_name_is_not_found(client, path):
    assert client.delete(path, version="2.1").status_code == 404
    assert client.delete(path.rstrip("/"), version="2.1").status_code == 405


@pytest.mark.parametrize("said", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_without_keystone_a_page_of_another_site_changes_nothing(tmp_path, said):
    headers = {"Content-Type": said} if said else {}
    text = b'{"keypair": {"name": "theirs"}}'
    with api_harness.made_in(tmp_path, ApiOptions(wants_content_type=True)) as world:
        answer = world.client.ask("POST", "/v2.1/os-keypairs", body=text, headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.text


@pytest.mark.parametrize(
    ("host", "safe"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("::", False)]
)
def test_an_api_that_believes_everybody_warns_where_everybody_reaches_it(host, safe, caplog):
    assert _checks.is_loopback(host) == safe
    with caplog.at_level(logging.WARNING):
        api._warn_of_strangers(host)
    assert bool(caplog.records) != safe
