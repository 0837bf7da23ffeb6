"""Stories of microversions 2.74 to 2.104: what differs between the one before and each."""

import pytest

from roost import states
from roost.api import microversions
from roost.db.api import build_requests
from roost.db.cell import migrations
from roost.objects import NetworkInfo
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, PUBLIC_KEY, a_uuid, a_vif, an_image
from tests.microversion_boundary import (
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
    show,
    statuses,
    tell_event,
    told,
    unshelving,
)

_FLAVORS = "/v2.1/flavors"
_NEWEST = microversions.name(microversions.MAXIMUM)


@pytest.fixture
def client(shared):
    return shared.client


def test_2_74_the_host_of_a_new_server_is_named_without_its_zone(shared):
    for name in ("host", "hypervisor_hostname"):
        assert statuses(74, create(shared, token=ADMIN, **{name: "h1"})) == (400, 202)
    assert statuses(74, create(shared, host="h1")) == (400, 403)
    twice = {"host": "h1", "availability_zone": "nova:h1"}
    assert statuses(74, create(shared, token=ADMIN, **twice)) == (400, 400)


@pytest.mark.parametrize(
    "path",
    [
        *("/servers", "/servers/detail", "/flavors", "/flavors/detail", "/os-keypairs", "/limits"),
        *("/os-hypervisors", "/os-hypervisors/detail", "/os-services", "/os-server-groups"),
        *("/os-quota-sets/project", "/os-simple-tenant-usage", "/os-simple-tenant-usage/project"),
    ],
)
def test_2_75_unknown_names_in_queries_are_refused(client, path):
    assert statuses(75, asking(client, f"GET /v2.1{path}?moon=full")) == (200, 400)


def test_2_75_a_change_answers_like_a_show(shared):
    server = active(shared)
    changed = change(shared, server, token="admin:project", name="other")
    lost, gained = fields(75, lambda v: changed(v).json["server"])
    assert lost == set()
    assert {"key_name", "security_groups", "OS-EXT-STS:vm_state", "host_status"} <= gained
    shown = show(shared, server, ADMIN)("2.75")
    assert changed("2.75").json["server"].keys() == shown.keys()


def test_2_75_addresses_in_the_answer_to_a_change_tell_their_kind(shared):
    server = active(shared, network_info=NetworkInfo.of(vifs=[a_vif()]))
    changed = change(shared, server, name="other")

    def names(version):
        ((address,),) = changed(version).json["server"]["addresses"].values()
        return address.keys()

    assert names("2.74") == {"version", "addr"}
    assert names("2.75") - names("2.74") == {"OS-EXT-IPS:type", "OS-EXT-IPS-MAC:mac_addr"}


def test_2_75_no_swap_is_0(client):
    assert around(75, told(client, f"{_FLAVORS}/1", "flavor", "swap")) == ("", 0)


def test_2_75_hypervisors_without_servers_say_so(client):
    path = "/v2.1/os-hypervisors?with_servers=true"
    assert fields(75, told(client, path, "hypervisors", 1)) == (set(), {"servers"})


def test_2_76_bare_metal_says_that_it_was_turned_on(shared):
    tell = tell_event(shared, "power-update", tag="POWER_ON")
    assert statuses(76, tell) == (400, 200)


def test_2_77_a_server_is_unshelved_in_another_zone(shared):
    def zone(version):
        assert unshelving(shared, availability_zone="nova")(version).status_code == 202
        return shared.scheduler.asked[-1].availability_zone

    assert around(77, zone) == (None, "nova")


def test_2_78_servers_tell_their_numa_topology(shared):
    path = f"GET /v2.1/servers/{active(shared).uuid}/topology"
    assert statuses(78, asking(shared.client, path, token=ALICE)) == (404, 200)


@pytest.mark.parametrize("name", ["user_id", "project_id"])
def test_2_80_migrations_are_filtered_by_user_and_project(client, name):
    assert statuses(80, asking(client, f"GET /v2.1/os-migrations?{name}=a")) == (400, 200)


def test_2_82_accelerators_say_that_they_are_bound(shared):
    assert statuses(82, tell_event(shared, "accelerator-request-bound")) == (400, 200)


@pytest.mark.parametrize(
    "query",
    [
        *("availability_zone=moon", "config_drive=true", "key_name=none", "power_state=7"),
        *("created_at=2020-01-01T00:00:00Z", "launched_at=2020-01-01T00:00:00Z"),
        *("terminated_at=2020-01-01T00:00:00Z", "user_id=nobody"),
        *("task_state=none", "vm_state=none"),
    ],
)
def test_2_83_users_filter_servers_by_more(shared, query):
    server = active(shared)
    before, after = around(83, listed(shared, query))
    assert (server.uuid in before, server.uuid in after) == (True, False)
    assert server.uuid not in listed(shared, f"{query}&all_tenants=1", token=ADMIN)("2.82")


@pytest.mark.parametrize("query", ["host=h9", "node=h9", "hostname=x", "launch_index=9"])
def test_2_83_other_filters_remain_the_administrators(shared, query):
    server = active(shared)
    assert server.uuid in listed(shared, query)("2.83")
    assert server.uuid not in listed(shared, f"{query}&all_tenants=1", token=ADMIN)("2.83")


def test_2_84_events_tell_why_they_failed(shared):
    path = f"{failed_actions(shared)}/req-create"
    event = told(shared.client, path, "instanceAction", "events", 0)
    assert fields(84, event) == (set(), {"details"})
    assert event("2.84")["details"] == "disk full"


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        ({"hw:moon": "1"}, (200, 400)),
        ({"hw:cpu_policy": "full"}, (200, 400)),
        ({"hw:cpu_policy": "shared"}, (200, 200)),
        ({"own:moon": "full"}, (200, 200)),
    ],
)
def test_2_86_extra_specs_of_known_scopes_are_looked_at(client, spec, answers):
    flavor = client.post(
        _FLAVORS, {"flavor": {"name": a_uuid(), "ram": 1, "vcpus": 1, "disk": 0}}
    ).json["flavor"]["id"]
    path = f"{_FLAVORS}/{flavor}/os-extra_specs"
    (name,) = spec
    assert statuses(86, asking(client, f"POST {path}", {"extra_specs": spec})) == answers
    assert statuses(86, asking(client, f"PUT {path}/{name}", spec)) == answers


def test_2_88_hypervisors_tell_no_amounts(client):
    amounts = {
        *("current_workload", "cpu_info", "vcpus", "vcpus_used", "free_disk_gb", "local_gb"),
        *("local_gb_used", "disk_available_least", "free_ram_mb", "memory_mb", "memory_mb_used"),
        "running_vms",
    }
    node = told(client, "/v2.1/os-hypervisors", "hypervisors", 0, "id")("2.53")
    for path, *keys in (("detail", "hypervisors", 0), (node, "hypervisor")):
        assert fields(88, told(client, f"/v2.1/os-hypervisors/{path}", *keys)) == (
            amounts,
            {"uptime"},
        )
    for path in ("statistics", f"{node}/uptime"):
        before, after = statuses(88, asking(client, f"GET /v2.1/os-hypervisors/{path}"))
        assert (before, after in (400, 404)) == (200, True)


def test_2_90_the_hostname_is_chosen_and_seen(shared):
    server = active(shared, hostname="first")
    before, after = around(90, create(shared, hostname="mine"))
    assert (before.status_code, build_request(shared, after).hostname) == (400, "mine")
    assert statuses(90, change(shared, server, hostname="second")) == (400, 200)
    assert fields(90, show(shared, server)) == (set(), {"OS-EXT-SRV-ATTR:hostname"})
    assert show(shared, server)("2.90")["OS-EXT-SRV-ATTR:hostname"] == "second"


def test_2_91_a_server_is_unshelved_on_a_host_or_in_any_zone(shared):
    assert statuses(91, unshelving(shared, host="h1")) == (400, 202)
    assert statuses(91, unshelving(shared, availability_zone=None)) == (400, 202)


def test_2_92_no_key_pairs_are_made_here_and_names_have_more_characters(client):
    def key(**values):
        return lambda v: client.post(
            "/v2.1/os-keypairs", {"keypair": {"name": a_uuid(), **values}}, version=v, token=ALICE
        )

    assert statuses(92, key()) == (201, 400)
    for name in ("a@b", "a.b"):
        assert statuses(92, key(name=name, public_key=PUBLIC_KEY)) == (400, 201)


def test_2_93_volumes_say_that_they_were_imaged_anew(shared):
    assert statuses(93, tell_event(shared, "volume-reimaged")) == (400, 200)


def test_2_94_the_hostname_may_be_a_full_domain_name(shared):
    assert statuses(94, create(shared, hostname="web.example.org")) == (400, 202)
    assert statuses(94, change(shared, active(shared), hostname="web.example.org")) == (400, 200)


def _pinned(shared):
    """Place a running server that is pinned to its zone, and return it."""
    server = active(shared, availability_zone="nova")
    request = shared.mapping(server.uuid).request_uuid
    with shared.api_db.begin() as session:
        assert build_requests.pin(session, server.uuid, request, "nova")
    return server


def test_2_95_an_evacuated_server_is_stopped(shared):
    def power(version):
        assert evacuating(shared)(version).status_code == 200
        operation = shared.buses["fake://cell1/"].sent[-1][-1]["operation"]
        with shared.databases[CELL1].read() as session:
            return migrations.unfinished(session, operation.instance_uuid).power_before

    assert around(95, power) == (states.RUNNING, states.SHUTDOWN)


def test_2_96_servers_tell_the_zone_that_they_are_pinned_to(shared):
    made = create(shared, token="zoe:zoe", availability_zone="nova")("2.96")
    path = f"/v2.1/servers/{made.json['server']['id']}"
    one = told(shared.client, path, "server", token="zoe:zoe")
    assert fields(96, one) == (set(), {"pinned_availability_zone"})
    assert one("2.96")["pinned_availability_zone"] == "nova"
    details = told(shared.client, "/v2.1/servers/detail", "servers", 0, token="zoe:zoe")
    assert fields(96, details) == (set(), {"pinned_availability_zone"})
    changed = change(shared, active(shared), name="other")
    assert fields(96, lambda v: changed(v).json["server"]) == (set(), {"pinned_availability_zone"})


def test_2_98_servers_tell_the_properties_of_their_image(shared):
    server = active(shared, image=an_image(properties={"os_distro": "debian"}, min_disk=2))
    path = f"/v2.1/servers/{server.uuid}"
    image = told(shared.client, path, "server", "image", token=ALICE)
    assert fields(98, image) == (set(), {"properties"})
    told_ = image("2.98")["properties"]
    assert (told_["os_distro"], told_["min_disk"]) == ("debian", "2")
    changed = change(shared, server, name="other")
    assert fields(98, lambda v: changed(v).json["server"]["image"]) == (set(), {"properties"})


def test_2_99_there_are_remote_consoles_of_kind_spice_direct(shared):
    wanted = {"remote_console": {"protocol": "spice", "type": "spice-direct"}}
    path = f"/v2.1/servers/{active(shared).uuid}/remote-consoles"
    assert statuses(99, asking(shared.client, f"POST {path}", wanted)) == (400, 501)


def test_2_100_servers_tell_the_hints_they_were_created_with(shared):
    token = "hal:hal"
    hints = {"own": "a", "many": ["a", "b"], "none": []}
    made = create(shared, token=token, hints=hints)("2.100").json["server"]
    one = told(shared.client, f"/v2.1/servers/{made['id']}", "server", token=token)
    details = told(shared.client, "/v2.1/servers/detail", "servers", 0, token=token)
    for ask in (one, details):
        assert fields(100, ask) == (set(), {"scheduler_hints"})
        assert ask("2.100")["scheduler_hints"] == hints
    changed = change(shared, active(shared), name="other")
    assert fields(100, lambda v: changed(v).json["server"]) == (set(), {"scheduler_hints"})


def test_2_102_flavors_are_found_by_name(client):
    assert statuses(102, asking(client, f"GET {_FLAVORS}?name=m1.tiny")) == (400, 200)
    for path in (_FLAVORS, f"{_FLAVORS}/detail"):
        found = told(client, f"{path}?name=m1.tiny", "flavors")("2.102")
        assert [one["name"] for one in found] == ["m1.tiny"]
        assert told(client, f"{path}?name=m1", "flavors")("2.102") == []


def test_2_102_flavors_have_no_rxtx_factor_and_are_not_disabled(client):
    lost = {"rxtx_factor", "OS-FLV-DISABLED:disabled"}

    def make(version, **more):
        flavor = {"name": a_uuid(), "ram": 1, "vcpus": 1, "disk": 0, **more}
        return client.post(_FLAVORS, {"flavor": flavor}, version=version)

    for path, *keys in (("/detail", "flavors", 0), ("/1", "flavor")):
        assert fields(102, told(client, _FLAVORS + path, *keys)) == (lost, set())
    assert fields(102, lambda v: make(v).json["flavor"]) == (lost, set())
    assert statuses(102, lambda v: make(v, rxtx_factor=2)) == (200, 400)
    assert statuses(102, asking(client, f"GET {_FLAVORS}?sort_key=rxtx_factor")) == (200, 400)


@pytest.mark.parametrize(
    "request_",
    [
        *("GET /flavors/1", "GET /os-aggregates", "GET /os-availability-zone", "GET /extensions"),
        *("GET /os-quota-class-sets/default", "DELETE /servers/{server}", "GET /servers/{server}"),
    ],
)
def test_2_102_unknown_names_are_refused_in_all_queries(shared, request_):
    path = request_.replace("/", "/v2.1/", 1).format(server=active(shared).uuid)
    before, after = statuses(102, asking(shared.client, f"{path}?moon=full"))
    assert (before in (200, 204), after) == (True, 400)


def test_2_104_a_server_is_unpinned_and_pinned_again_where_it_is(shared):
    server = _pinned(shared)
    for zone in (None, None, "nova", "nova"):
        answers = statuses(104, change(shared, server, pinned_availability_zone=zone))
        assert answers == (400, 200)
        assert show(shared, server)("2.104")["pinned_availability_zone"] == zone
    assert show(shared, server)("2.104")["OS-EXT-AZ:availability_zone"] == "nova"


def test_2_104_a_server_is_pinned_only_where_it_is(shared):
    server = _pinned(shared)

    def pin(zone):
        return change(shared, server, pinned_availability_zone=zone)("2.104").status_code

    assert pin("east") == 409  # from one zone to another
    assert pin(None) == 200
    assert pin("east") == 409  # where it is not
    assert pin("") == 400
    assert show(shared, server)("2.104")["pinned_availability_zone"] is None


def test_2_104_the_others_of_a_request_keep_their_pins(shared):
    token = "ida:ida"
    create(shared, token=token, max_count=2, availability_zone="nova")(_NEWEST)
    path = "/v2.1/servers/detail"
    first, other = told(shared.client, path, "servers", token=token)(_NEWEST)
    with shared.api_db.begin() as session:
        mapping = shared.mapping(first["id"])
        assert build_requests.pin(session, first["id"], mapping.request_uuid, None)
    pins = {
        one["id"]: one["pinned_availability_zone"]
        for one in told(shared.client, path, "servers", token=token)(_NEWEST)
    }
    assert pins == {first["id"]: None, other["id"]: "nova"}
