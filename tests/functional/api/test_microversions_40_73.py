"""Stories of microversions 2.40 to 2.73: what differs between the one before and each."""

import dataclasses
import types

import pytest

from roost import exception, states
from roost.api.app import make_app
from roost.api.dependencies import ApiOptions
from roost.api.networking.neutron import NeutronNetworking
from roost.db.api import cells
from roost.objects import NetworkInfo
from tests import api_harness
from tests.api_harness import ALICE, IMAGE, PRIVATE
from tests.builders import CELL1, NOW, a_uuid, a_vif
from tests.fakes.neutron import FakeNetwork
from tests.microversion_boundary import (
    TAGGED_DISK,
    active,
    around,
    asking,
    build_request,
    change,
    create,
    evacuating,
    failed_actions,
    fields,
    listed,
    live_migrations,
    migrating_live,
    show,
    statuses,
    tell_event,
    told,
)

_CLASS = "/v2.1/os-quota-class-sets/default"
_FLAVORS = "/v2.1/flavors"
_FILES = {"injected_file_content_bytes", "injected_file_path_bytes", "injected_files"}


@pytest.fixture
def client(shared):
    return shared.client


def _flavor(client, **values):
    """Return what creates a flavor, of a new name each time."""

    def ask(version):
        flavor = {"name": a_uuid(), "ram": 1, "vcpus": 1, "disk": 0, **values}
        return client.post(_FLAVORS, {"flavor": flavor}, version=version)

    return ask


def _group(client, token=ALICE, **values):
    body = {"server_group": {"name": "group", **values}}
    return asking(client, "POST /v2.1/os-server-groups", body, token=token)


@pytest.fixture
def failed(shared):
    return failed_actions(shared)


def test_2_40_usage_has_pages(shared):
    for _ in range(2):
        active(shared, project_id="usage", created_at=NOW, launched_at=NOW)
    path = "/v2.1/os-simple-tenant-usage/usage?limit=1&start=2026-01-01T00:00:00"
    before, after = around(40, told(shared.client, path))
    assert (len(before["tenant_usage"]["server_usages"]), len(before)) == (2, 1)
    assert len(after["tenant_usage"]["server_usages"]) == 1
    assert "marker=" in after["tenant_usage_links"][0]["href"]


def test_2_41_aggregates_have_uuids(client):
    def make(version):
        body = {"aggregate": {"name": a_uuid()}}
        return client.post("/v2.1/os-aggregates", body, version=version).json["aggregate"]

    assert fields(41, make) == (set(), {"uuid"})
    assert fields(41, told(client, "/v2.1/os-aggregates", "aggregates", 0)) == (set(), {"uuid"})


def test_2_42_networks_of_a_new_server_may_have_tags_again(shared):
    networks = [{"uuid": PRIVATE.id, "tag": "nic"}]
    assert statuses(42, create(shared, networks=networks)) == (400, 202)


def test_2_42_disks_of_a_new_server_may_have_tags_again(shared):
    assert statuses(42, create(shared, block_device_mapping_v2=[TAGGED_DISK])) == (400, 202)


def _acting(shared, body):
    """Return what does this to a server of its own each time."""
    return lambda version: shared.client.post(
        f"/v2.1/servers/{active(shared).uuid}/action", body, version=version
    )


def test_2_44_addresses_of_servers_are_not_changed_by_actions_any_more(shared):
    body = {"addFixedIp": {"networkId": "1"}}
    assert statuses(44, _acting(shared, body)) == (400, 404)


def test_2_45_the_answer_to_create_image_names_it_and_not_a_header(shared):
    for body in (
        {"createImage": {"name": "a"}},
        {"createBackup": {"name": "a", "backup_type": "daily", "rotation": 1}},
    ):
        before, after = around(45, _acting(shared, body))
        assert (before.content, "location" in before.headers) == (b"", True)
        assert ([*after.json], "location" in after.headers) == (["image_id"], False)


def test_2_46_answers_are_named_twice_and_always_were(client):
    for answer in around(46, asking(client, f"GET {_FLAVORS}")):
        names = [answer.headers[f"x-{word}-request-id"] for word in ("openstack", "compute")]
        assert names[0] == names[1]


def test_2_47_servers_tell_what_their_flavor_was(shared):
    flavor = told(shared.client, f"/v2.1/servers/{active(shared).uuid}", "server", "flavor")
    sizes = {"original_name", "vcpus", "ram", "disk", "ephemeral", "swap", "extra_specs"}
    assert fields(47, flavor) == ({"id", "links"}, sizes)


def test_2_48_diagnostics_are_alike_for_all_hypervisors(shared):
    path = f"/v2.1/servers/{active(shared).uuid}/diagnostics"
    before, after = around(48, told(shared.client, path))
    assert ("memory" in before, "memory" in after) == (True, False)
    assert {"state", "uptime", "memory_details", "nic_details", "num_cpus"} <= set(after)


def test_2_49_interfaces_are_attached_with_a_tag(shared):
    server = active(shared, vm_state=states.BUILDING, task_state=states.SPAWNING)
    path = f"POST /v2.1/servers/{server.uuid}/os-interface"
    attach = asking(shared.client, path, {"interfaceAttachment": {"tag": "nic"}}, token=ALICE)
    assert statuses(49, attach) == (400, 409)  # the body is good, the moment is not


def test_2_50_quota_classes_have_groups_and_no_networks(client):
    networks = {"fixed_ips", "floating_ips", "security_group_rules", "security_groups"}
    groups = {"server_groups", "server_group_members"}
    assert fields(50, told(client, _CLASS, "quota_class_set")) == (networks, groups)
    put = asking(client, f"PUT {_CLASS}", {"quota_class_set": {"floating_ips": 5}})
    assert statuses(50, put) == (200, 400)


def test_2_51_users_see_the_events_of_an_action(client, failed):
    action = told(client, f"{failed}/req-create", "instanceAction", token=ALICE)
    assert fields(51, action) == (set(), {"events"})
    assert "traceback" not in action("2.51")["events"][0]


def test_2_51_volumes_say_that_they_were_extended(shared):
    assert statuses(51, tell_event(shared, "volume-extended")) == (400, 200)


def test_2_52_a_server_is_created_with_tags(shared):
    before, after = around(52, create(shared, tags=["red"]))
    assert before.status_code == 400
    assert build_request(shared, after).tags == ["red"]


def test_2_53_services_have_uuids_and_one_way_to_change_them(client):
    before, after = around(53, told(client, "/v2.1/os-services?host=h1", "services", 0, "id"))
    assert isinstance(before, int)
    assert len(after) == len(a_uuid())
    legacy = {"host": "h1", "binary": "roost-compute"}
    by_word = asking(client, "PUT /v2.1/os-services/enable", legacy)
    by_uuid = asking(client, f"PUT /v2.1/os-services/{after}", {"status": "enabled"})
    assert statuses(53, by_word)[0] == 200
    assert statuses(53, by_word)[1] in (400, 404)
    assert statuses(53, by_uuid)[1] == 200
    assert statuses(53, by_uuid)[0] in (400, 404)
    assert by_uuid("2.53").json["service"]["id"] == after


def test_2_43_there_are_no_hosts_any_more(client):
    for path in ("/os-hosts", "/os-hosts/h1"):
        assert statuses(43, asking(client, f"GET /v2.1{path}")) == (200, 404)


@pytest.mark.parametrize("path", ["", "/detail"])
def test_2_53_hypervisors_have_uuids_and_queries_instead_of_paths(client, path):
    ids = told(client, f"/v2.1/os-hypervisors{path}", "hypervisors", 0, "id")
    before, after = around(53, ids)
    assert (type(before), len(after)) == (int, len(a_uuid()))
    for word in ("search", "servers"):
        assert statuses(53, asking(client, f"GET /v2.1/os-hypervisors/h1/{word}")) == (200, 404)
    query = "hypervisor_hostname_pattern=h1&with_servers=true"
    found = told(client, f"/v2.1/os-hypervisors{path}?{query}", "hypervisors")
    assert [len(some) for some in around(53, found)] == [2, 1]


def test_2_54_a_rebuild_changes_the_key_pair(shared):
    assert statuses(54, _acting(shared, _rebuild(key_name=None))) == (400, 202)
    rebuild = _acting(shared, _rebuild())
    assert fields(54, lambda v: rebuild(v).json["server"]) == (set(), {"key_name"})


def _rebuild(**asked):
    return {"rebuild": {"imageRef": IMAGE, **asked}}


def test_2_55_flavors_have_a_description(client):
    assert statuses(55, _flavor(client, description="big")) == (400, 200)
    body = {"flavor": {"description": "small"}}
    assert statuses(55, asking(client, f"PUT {_FLAVORS}/1", body)) == (404, 200)
    for path, *keys in (("", "flavors", 0), ("/detail", "flavors", 0), ("/1", "flavor")):
        assert fields(55, told(client, _FLAVORS + path, *keys)) == (set(), {"description"})


def test_2_56_a_migration_may_name_its_host(shared):
    with shared.api_db.begin() as session:
        cells.map_host(session, "new-host", CELL1)

    def migrate(version):
        path = f"/v2.1/servers/{active(shared).uuid}/action"
        body = {"migrate": {"host": "new-host"}}
        return shared.client.post(path, body, version=version, token="admin")

    assert statuses(56, migrate) == (400, 202)


def test_2_57_there_are_no_files_in_servers_quotas_and_limits(shared, client):
    assert statuses(57, create(shared, personality=[])) == (202, 400)
    assert statuses(57, _acting(shared, _rebuild(personality=[]))) == (202, 400)
    limits = told(client, "/v2.1/limits", "limits", "absolute")
    assert fields(57, limits) == ({"maxPersonality", "maxPersonalitySize"}, set())
    for path, name in (("/v2.1/os-quota-sets/files", "quota_set"), (_CLASS, "quota_class_set")):
        assert fields(57, told(client, path, name)) == (_FILES, set())
        put = asking(client, f"PUT {path}", {name: {"injected_files": 5}})
        assert statuses(57, put) == (200, 400)


def test_2_58_actions_have_pages_and_tell_when_they_changed(client, failed):
    path = f"{failed}?changes-since=2030-01-01T00:00:00Z"
    before, after = around(58, told(client, path, "instanceActions", token=ALICE))
    assert (len(before), len(after)) == (1, 0)
    one = told(client, failed, "instanceActions", 0, token=ALICE)
    assert fields(58, one) == (set(), {"updated_at"})
    assert statuses(58, asking(client, f"GET {failed}?limit=x", token=ALICE)) == (200, 400)
    assert statuses(58, asking(client, f"GET {failed}?moon=full", token=ALICE)) == (200, 400)
    assert "links" in client.get(f"{failed}?limit=1", version="2.58", token=ALICE).json


@pytest.mark.parametrize("query", ["moon=full", "limit=x", "changes-since=then", "marker=nobody"])
def test_2_59_migrations_have_pages_and_refuse_what_they_do_not_know(client, query):
    answers = statuses(59, asking(client, f"GET /v2.1/os-migrations?{query}"))
    assert answers == (200, 400)


def test_2_61_flavors_tell_their_extra_specs(client):
    for path, *keys in (("/detail", "flavors", 0), ("/1", "flavor")):
        assert fields(61, told(client, _FLAVORS + path, *keys)) == (set(), {"extra_specs"})
    assert fields(61, lambda v: _flavor(client)(v).json["flavor"]) == (set(), {"extra_specs"})
    assert "extra_specs" not in client.get(_FLAVORS, version="2.61").json["flavors"][0]


def test_2_62_events_tell_the_host_to_users_by_a_hash(client, failed):
    path = (f"{failed}/req-create", "instanceAction", "events", 0)
    assert fields(62, told(client, *path)) == (set(), {"host", "hostId"})
    assert fields(62, told(client, *path, token=ALICE)) == (set(), {"hostId"})


def test_2_63_servers_name_their_certificates(shared):
    assert fields(63, show(shared, active(shared))) == (set(), {"trusted_image_certificates"})
    before, after = around(63, create(shared, trusted_image_certificates=["a"]))
    assert before.status_code == 400
    path = f"/v2.1/servers/{after.json['server']['id']}"
    one = told(shared.client, path, "server", token=ALICE)("2.63")
    assert one["trusted_image_certificates"] == ["a"]
    rebuild = _acting(shared, _rebuild(trusted_image_certificates=["b"]))
    before, after = around(63, rebuild)
    assert before.status_code == 400
    assert after.json["server"]["trusted_image_certificates"] == ["b"]


def test_2_64_a_server_group_has_one_policy_with_rules(client):
    rules = {"policy": "anti-affinity", "rules": {"max_server_per_host": 3}}
    assert statuses(64, _group(client, policies=["affinity"])) == (200, 400)
    assert statuses(64, _group(client, **rules)) == (400, 200)
    one = told(client, "/v2.1/os-server-groups", "server_groups", 0, token=ALICE)
    assert fields(64, one) == ({"policies", "metadata"}, {"policy", "rules"})


def test_2_66_servers_actions_and_migrations_are_listed_until_a_time(shared, failed):
    server = active(shared, created_at=NOW)
    query = "changes-before=2020-01-01T00:00:00Z"
    before, after = around(66, listed(shared, query))
    assert (server.uuid in before, after) == (True, set())
    known = told(shared.client, f"{failed}?{query}", "instanceActions", token=ALICE)
    assert known("2.66") == []
    for path in (failed, "/v2.1/os-migrations"):
        assert statuses(66, asking(shared.client, f"GET {path}?{query}")) == (400, 200)


def test_2_67_devices_of_a_new_server_may_name_a_type_of_volume(shared):
    """Which this cloud has not, and says so."""
    typed = {**TAGGED_DISK, "volume_type": "fast"}
    before, after = around(67, create(shared, block_device_mapping_v2=[typed]))
    assert "volume_type" in before.text
    assert "this cloud has no volumes" not in before.text
    assert "volume_type is 'fast', but this cloud has no volumes" in after.text
    untyped = {**TAGGED_DISK, "volume_type": None}
    assert statuses(67, create(shared, block_device_mapping_v2=[untyped])) == (400, 202)


def test_2_65_a_live_migration_that_does_not_copy_yet_can_be_aborted(shared):
    assert statuses(65, live_migrations(shared, "DELETE ", step="describe")) == (409, 202)


def test_2_68_nobody_forces_the_host_of_a_move_any_more(shared):
    with shared.api_db.begin() as session:
        cells.map_host(session, "new-host", CELL1)
    assert statuses(68, evacuating(shared, host="new-host", force=True)) == (200, 400)
    live = {"host": "new-host", "block_migration": "auto", "force": True}
    assert statuses(68, migrating_live(shared, **live)) == (202, 400)


@pytest.mark.parametrize("path", ["/v2.1/servers", "/v2.1/servers/detail"])
def test_2_69_what_is_known_of_a_cell_that_is_away_is_told(tmp_path, path):
    def away():
        raise exception.Unavailable("no route")

    with api_harness.made_in(tmp_path, ApiOptions()) as world:
        server = active(world)
        world.databases[CELL1].read = away
        before, after = around(69, told(world.client, path, "servers", token=ALICE))
        one = asking(world.client, f"GET /v2.1/servers/{server.uuid}", token=ALICE)
        assert (before, [some["status"] for some in after]) == ([], ["UNKNOWN"])
        assert statuses(69, one) == (503, 200)


def test_2_70_interfaces_show_their_tags(shared):
    vif = a_vif(tag="nic")
    server = active(shared, network_info=NetworkInfo.of(vifs=[vif]))
    path = f"/v2.1/servers/{server.uuid}/os-interface"
    one = (f"{path}/{vif.id}", "interfaceAttachment")
    for ask in ((path, "interfaceAttachments", 0), one):
        assert fields(70, told(shared.client, *ask, token=ALICE)) == (set(), {"tag"})


def test_2_71_servers_name_their_group(shared):
    token = "fred:fred"
    group = _group(shared.client, token, policy="affinity")("2.64").json["server_group"]["id"]
    made = create(shared, token=token, hints={"group": group})("2.71").json["server"]
    one = told(shared.client, f"/v2.1/servers/{made['id']}", "server", token=token)
    assert fields(71, one) == (set(), {"server_groups"})
    assert one("2.71")["server_groups"] == [group]
    server = active(shared)
    changed = change(shared, server, name="other")
    assert fields(71, lambda v: changed(v).json["server"]) == (set(), {"server_groups"})
    details = told(shared.client, "/v2.1/servers/detail", "servers", 0, token=ALICE)
    assert fields(71, details) == (set(), set())


def test_2_72_ports_may_need_resources_of_their_host(shared):
    neutron = FakeNetwork()
    port = neutron.create_port(network_id=neutron.a_network().id)
    needs = {"request_groups": [{"id": "g1", "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 9}}]}
    neutron.update_port(port.id, qos_policy_id=a_uuid(), resource_request=needs)
    connections = types.SimpleNamespace(of_user=lambda _context: neutron, ours=neutron)
    parts = dataclasses.replace(shared.parts, networking=NeutronNetworking(connections))
    server = {"name": "s", "imageRef": IMAGE, "flavorRef": "1", "networks": [{"port": port.id}]}
    client = api_harness.Client(make_app(parts))
    ask = asking(client, "POST /v2.1/servers", {"server": server}, token=ALICE)
    before, after = ask("2.71"), ask("2.72")
    assert before.status_code == 400
    ((asked,),) = (one.resources for one in build_request(shared, after).networks)
    assert asked.amounts == {"NET_BW_EGR_KILOBIT_PER_SEC": 9}


def test_2_73_servers_are_locked_for_a_reason(shared):
    server = active(shared)
    lock = {"lock": {"locked_reason": "mine"}}
    path = f"POST /v2.1/servers/{server.uuid}/action"
    assert fields(73, show(shared, server)) == (set(), {"locked_reason"})
    asking(shared.client, path, lock, token=ALICE)("2.72")
    assert show(shared, server)("2.73")["locked_reason"] is None
    asking(shared.client, path, {"unlock": None}, token=ALICE)("2.73")
    asking(shared.client, path, lock, token=ALICE)("2.73")
    assert show(shared, server)("2.73")["locked_reason"] == "mine"


def test_2_73_lists_are_filtered_and_sorted_by_locks(shared):
    free, locked = active(shared), active(shared, locked=True)
    before, after = around(73, listed(shared, "locked=true"))
    assert {free.uuid, locked.uuid} <= before
    assert (free.uuid in after, locked.uuid in after) == (False, True)
    sorted_ = asking(shared.client, "GET /v2.1/servers?sort_key=locked", token=ALICE)
    assert statuses(73, sorted_) == (200, 200)  # ignored before
