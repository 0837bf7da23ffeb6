"""Stories of microversions 2.1 to 2.39: what differs between the one before and each."""

import json

import pytest

from roost.db.api import cells
from tests.api_harness import ALICE, IMAGE, PRIVATE
from tests.builders import CELL1, PUBLIC_KEY, a_uuid
from tests.microversion_boundary import (
    TAGGED_DISK,
    active,
    around,
    asking,
    change,
    create,
    evacuating,
    fields,
    listed,
    live_migrations,
    migrating_live,
    show,
    statuses,
    told,
)

_KEYS = "/v2.1/os-keypairs"
_SRV = "OS-EXT-SRV-ATTR:"
_QUOTAS = "/v2.1/os-quota-sets/project"


@pytest.fixture
def client(shared):
    return shared.client


def _key(client, token=ALICE, **values):
    """Return what imports a key pair, of a new name each time."""

    def ask(version):
        body = {"keypair": {"name": a_uuid(), "public_key": PUBLIC_KEY, **values}}
        return client.post(_KEYS, body, version=version, token=token)

    return ask


def test_2_1_is_what_nobody_asks_for(client):
    answer = client.get("/v2.1/flavors", headers={"OpenStack-API-Version": ""})
    assert answer.headers["OpenStack-API-Version"] == "compute 2.1"


def test_2_2_key_pairs_have_a_type_and_statuses_of_their_own(client):
    def delete(version):
        name = _key(client)(version).json["keypair"]["name"]
        return client.delete(f"{_KEYS}/{name}", version=version, token=ALICE)

    assert statuses(2, _key(client)) == (200, 201)
    assert statuses(2, _key(client, type="ssh")) == (400, 201)
    assert fields(2, lambda v: _key(client)(v).json["keypair"]) == (set(), {"type"})
    assert statuses(2, delete) == (202, 204)


def test_2_3_administrators_see_more_of_a_server(shared):
    server = active(shared)
    gained = {
        *("reservation_id", "launch_index", "hostname", "kernel_id", "ramdisk_id"),
        *("root_device_name", "user_data"),
    }
    seen = fields(3, show(shared, server, "admin:ops"))
    assert seen == (set(), {f"{_SRV}{name}" for name in gained})
    assert fields(3, show(shared, server)) == (set(), set())


def test_2_5_servers_are_filtered_by_addresses_of_both_kinds(shared):
    server = active(shared)
    before, after = around(5, listed(shared, "ip6=2001:db8::1"))
    assert (server.uuid in before, server.uuid in after) == (True, False)


def test_2_6_one_request_asks_for_all_kinds_of_remote_consoles(shared):
    server = active(shared).uuid
    wanted = {"remote_console": {"protocol": "vnc", "type": "novnc"}}
    assert statuses(6, asking(shared.client, f"POST {_console_of(server)}", wanted)) == (404, 200)
    for name, kind, before in (
        *[("os-getVNCConsole", "novnc", 200), ("os-getSPICEConsole", "spice-html5", 200)],
        *[("os-getRDPConsole", "rdp-html5", 501), ("os-getSerialConsole", "serial", 200)],
    ):
        path, body = f"/v2.1/servers/{server}/action", {name: {"type": kind}}
        assert statuses(6, asking(shared.client, f"POST {path}", body)) == (before, 404)


def test_2_8_there_are_remote_consoles_of_kind_mks(shared):
    wanted = {"remote_console": {"protocol": "mks", "type": "webmks"}}
    path = _console_of(active(shared).uuid)
    assert statuses(8, asking(shared.client, f"POST {path}", wanted)) == (400, 501)


def _console_of(server):
    return f"/v2.1/servers/{server}/remote-consoles"


def test_2_7_a_public_flavor_needs_no_access(client):
    body = {"addTenantAccess": {"tenant": "project"}}
    assert statuses(7, asking(client, "POST /v2.1/flavors/1/action", body)) == (200, 409)


def test_2_9_servers_say_whether_they_are_locked(shared):
    assert fields(9, show(shared, active(shared))) == (set(), {"locked"})
    assert show(shared, active(shared, locked=True))("2.9")["locked"] is True


def test_2_10_administrators_care_for_the_key_pairs_of_others(client):
    assert statuses(10, _key(client, "admin:ops", user_id="carol")) == (400, 201)
    before, after = around(10, told(client, f"{_KEYS}?user_id=carol", "keypairs"))
    assert (len(before), len(after)) == (0, 1)


def test_2_11_services_may_be_forced_down(client):
    body = {"host": "h1", "binary": "roost-compute", "forced_down": False}
    force = asking(client, "PUT /v2.1/os-services/force-down", body)
    assert statuses(11, force) == (400, 200)
    assert fields(11, told(client, "/v2.1/os-services", "services", 0)) == (set(), {"forced_down"})


def test_2_13_server_groups_tell_whose_they_are(client):
    body = {"server_group": {"name": "mine", "policies": ["affinity"]}}
    make = asking(client, "POST /v2.1/os-server-groups", body, token=ALICE)
    gained = {"project_id", "user_id"}
    assert fields(13, lambda v: make(v).json["server_group"]) == (set(), gained)
    assert fields(13, told(client, "/v2.1/os-server-groups", "server_groups", 0, token=ALICE)) == (
        set(),
        gained,
    )


def test_2_14_whether_storage_is_shared_is_found_out_and_no_password_is_told(shared):
    assert statuses(14, evacuating(shared, onSharedStorage=False)) == (200, 400)
    assert statuses(14, evacuating(shared)) == (400, 200)
    before = evacuating(shared, onSharedStorage=False, adminPass="secret")("2.13")
    assert before.json == {"adminPass": "secret"}
    assert evacuating(shared, adminPass="secret")("2.14").text == ""


@pytest.mark.parametrize("policy", ["soft-affinity", "soft-anti-affinity"])
def test_2_15_server_groups_may_be_soft(client, policy):
    body = {"server_group": {"name": "soft", "policies": [policy]}}
    assert statuses(15, asking(client, "POST /v2.1/os-server-groups", body)) == (400, 200)


def test_2_16_administrators_see_whether_the_host_is_up(shared):
    server = active(shared)
    path = f"/v2.1/servers/detail?all_tenants=1&uuid={server.uuid}"
    assert fields(16, show(shared, server, "admin:ops")) == (set(), {"host_status"})
    assert fields(16, told(shared.client, path, "servers", 0)) == (set(), {"host_status"})
    assert fields(16, show(shared, server)) == (set(), set())


def test_2_17_servers_can_be_made_to_crash(shared):
    path = f"POST /v2.1/servers/{active(shared).uuid}/action"
    crash = asking(shared.client, path, {"trigger_crash_dump": None}, token=ALICE)
    assert statuses(17, crash) == (404, 202)


def test_2_18_paths_need_no_project_and_never_did(client):
    assert statuses(18, asking(client, "GET /v2.1/flavors")) == (200, 200)


def test_2_19_servers_have_a_description(shared):
    server = active(shared, display_description="mine")
    assert statuses(19, create(shared, description="mine")) == (400, 202)
    assert fields(19, show(shared, server)) == (set(), {"description"})
    assert statuses(19, change(shared, server, description=None)) == (400, 200)
    assert show(shared, server)("2.19")["description"] is None


def test_2_21_actions_of_the_deleted_are_seen(shared):
    server = active(shared)
    shared.end(server)
    path = f"GET /v2.1/servers/{server.uuid}/os-instance-actions"
    assert statuses(21, asking(shared.client, path, token=ALICE)) == (404, 200)
    assert statuses(21, asking(shared.client, path, token="bob:other")) == (404, 404)


def test_2_23_servers_have_migrations(shared):
    path = f"GET /v2.1/servers/{active(shared).uuid}/migrations"
    assert statuses(23, asking(shared.client, path)) == (404, 200)


@pytest.mark.parametrize(
    ("request_", "body", "status"),
    [
        ("GET", None, 200),
        ("PUT", {"tags": ["red"]}, 200),
        ("DELETE", None, 204),
        ("GET /red", None, 204),
        ("PUT /blue", None, 201),
        ("DELETE /red", None, 204),
    ],
)
def test_2_26_servers_have_tags(shared, request_, body, status):
    server = active(shared, tags=["red"])
    method, _, rest = request_.partition(" ")
    path = f"{method} /v2.1/servers/{server.uuid}/tags{rest}"
    assert fields(26, show(shared, server)) == (set(), {"tags"})
    assert statuses(26, asking(shared.client, path, body, token=ALICE)) == (404, status)


@pytest.mark.parametrize("query", ["tags=green", "tags-any=a,green", "not-tags=red"])
def test_2_26_lists_are_filtered_by_tags(shared, query):
    server = active(shared, tags=["red"])
    before, after = around(26, listed(shared, query))
    assert (server.uuid in before, server.uuid in after) == (True, False)


@pytest.mark.parametrize(
    "headers",
    [{"OpenStack-API-Version": "compute {}"}, {"X-OpenStack-Nova-API-Version": "{}"}],
)
@pytest.mark.parametrize("version", ["2.26", "2.27"])
def test_2_27_both_headers_are_understood_and_always_were(client, headers, version):
    sent = {name: value.format(version) for name, value in headers.items()}
    answer = client.simulate_get("/v2.1/flavors", headers=sent)
    assert answer.headers["OpenStack-API-Version"] == f"compute {version}"
    assert answer.headers["X-OpenStack-Nova-API-Version"] == version


def test_2_28_cpu_info_is_an_object(client):
    before, after = around(
        28, told(client, "/v2.1/os-hypervisors/detail", "hypervisors", 0, "cpu_info")
    )
    assert isinstance(after, dict)
    assert json.loads(before) == after


def test_2_29_the_host_of_an_evacuation_may_be_forced(shared):
    with shared.api_db.begin() as session:
        cells.map_host(session, "new-host", CELL1)
    assert statuses(29, evacuating(shared, host="new-host", force=True)) == (400, 200)
    assert shared.scheduler.asked[-1].forced
    assert evacuating(shared, host="new-host")("2.29").status_code == 200
    assert not shared.scheduler.asked[-1].forced
    assert evacuating(shared, force=True)("2.29").status_code == 400


def test_2_22_a_live_migration_can_be_forced(shared):
    force = {"force_complete": None}
    assert statuses(22, live_migrations(shared, "POST /action", force)) == (404, 202)


def test_2_24_a_live_migration_can_be_aborted(shared):
    assert statuses(24, live_migrations(shared, "DELETE ")) == (404, 202)


def test_2_25_block_migration_may_be_auto(shared):
    auto = {"host": None, "block_migration": "auto"}
    assert statuses(25, migrating_live(shared, **auto)) == (400, 202)
    said = {"host": None, "block_migration": True}
    assert statuses(25, migrating_live(shared, **said, disk_over_commit=False)) == (202, 400)
    assert migrating_live(shared, **said)("2.25").status_code == 202


def test_2_30_the_host_of_a_live_migration_may_be_forced(shared):
    with shared.api_db.begin() as session:
        cells.map_host(session, "new-host", CELL1)
    named = {"host": "new-host", "block_migration": "auto"}
    assert statuses(30, migrating_live(shared, **named, force=True)) == (400, 202)
    assert shared.scheduler.asked[-1].forced
    assert migrating_live(shared, **named)("2.30").status_code == 202
    assert not shared.scheduler.asked[-1].forced


def test_2_34_a_live_migration_is_checked_after_the_answer(shared):
    auto = {"host": None, "block_migration": "auto"}
    assert statuses(34, migrating_live(shared, **auto)) == (202, 202)  # as it always was here


def test_2_31_tokens_of_all_consoles_can_be_shown(shared):
    path = f"/v2.1/os-console-auth-tokens/{shared.console_token()}"
    assert statuses(31, asking(shared.client, f"GET {path}")) == (400, 200)


def test_2_32_networks_of_a_new_server_may_have_tags(shared):
    networks = [{"uuid": PRIVATE.id, "tag": "nic"}]
    assert statuses(32, create(shared, networks=networks)) == (400, 202)


def test_2_32_disks_of_a_new_server_may_have_tags(shared):
    assert statuses(32, create(shared, block_device_mapping_v2=[TAGGED_DISK])) == (400, 202)


def test_2_33_disks_have_no_tags_by_accident(shared):
    assert statuses(33, create(shared, block_device_mapping_v2=[TAGGED_DISK])) == (202, 400)


def test_2_33_hypervisors_have_pages(client):
    before, after = around(33, told(client, "/v2.1/os-hypervisors?limit=1", "hypervisors"))
    assert (len(before), len(after)) == (2, 1)


def test_2_35_key_pairs_have_pages(client):
    for name in ("b", "a", "c"):
        _key(client, "dave:dave", name=name)("2.34")
    page = told(client, f"{_KEYS}?limit=1&marker=a", "keypairs", token="dave:dave")
    before, after = ([one["keypair"]["name"] for one in found] for found in around(35, page))
    assert (sorted(before), after) == (["a", "b", "c"], ["b"])


@pytest.mark.parametrize(
    "path",
    [
        "/os-networks",
        f"/os-networks/{PRIVATE.id}",
        "/os-tenant-networks",
        f"/os-tenant-networks/{PRIVATE.id}",
        "/os-floating-ips",
        "/os-floating-ip-pools",
        "/os-security-groups",
    ],
)
def test_2_36_there_are_no_proxies_of_network(client, path):
    assert statuses(36, asking(client, f"GET /v2.1{path}")) == (200, 404)


def test_2_36_there_are_no_proxies_of_image(shared):
    one = f"/v2.1/images/{shared.image().id}"
    for path in ("/v2.1/images", "/v2.1/images/detail", one):
        assert statuses(36, asking(shared.client, f"GET {path}")) == (200, 404)
    assert statuses(36, asking(shared.client, f"DELETE {one}")) == (204, 404)


def test_2_36_there_are_no_quotas_and_limits_of_networks(client):
    lost = {"fixed_ips", "floating_ips", "security_group_rules", "security_groups"}
    assert fields(36, told(client, _QUOTAS, "quota_set")) == (lost, set())
    lost = {
        *("maxSecurityGroupRules", "maxSecurityGroups", "maxTotalFloatingIps"),
        *("totalFloatingIpsUsed", "totalSecurityGroupsUsed"),
    }
    assert fields(36, told(client, "/v2.1/limits", "limits", "absolute")) == (lost, set())
    put = asking(client, f"PUT {_QUOTAS}", {"quota_set": {"floating_ips": 5}})
    assert statuses(36, put) == (200, 400)


@pytest.mark.parametrize(
    ("networks", "answers"),
    [
        ({}, (202, 400)),
        ({"networks": "none"}, (400, 202)),
        ({"networks": "auto"}, (400, 202)),
        ({"networks": [{"uuid": PRIVATE.id}]}, (202, 202)),
        ({"networks": [{"uuid": PRIVATE.id, "tag": "nic"}]}, (202, 400)),
    ],
)
def test_2_37_a_new_server_says_which_networks(client, networks, answers):
    body = {"server": {"name": "a", "flavorRef": "1", "imageRef": IMAGE, **networks}}
    assert statuses(37, asking(client, "POST /v2.1/servers", body, token="erin:erin")) == answers


def test_2_38_a_status_that_there_is_none_of_is_refused(client):
    assert statuses(38, asking(client, "GET /v2.1/servers?status=moon")) == (200, 400)
    assert statuses(38, asking(client, "GET /v2.1/servers?status=shelved")) == (200, 200)


def test_2_39_images_have_no_metadata_here(shared):
    path = f"GET /v2.1/images/{shared.image().id}/metadata"
    assert statuses(39, asking(shared.client, path)) == (200, 404)


def test_2_39_images_have_no_limit_of_metadata(client):
    limits = told(client, "/v2.1/limits", "limits", "absolute")
    assert fields(39, limits) == ({"maxImageMeta"}, set())
