"""Whatever is sent, the answer is never that the API has failed."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.api import microversions
from roost.api.dependencies import ApiOptions
from roost.standalone.tables import ROUTES
from tests.api_harness import IMAGE, PRIVATE, made_in

_SETTINGS = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_WITH_BODY = [route for route in ROUTES if route.body is not None]
_PARAMS = {
    "flavor_id": "1",
    "key": "a",
    "server_id": IMAGE,
    "tag": "a",
    "server_group_id": IMAGE,
    "keypair_name": "a",
    "service_id": "enable",
    "port_id": IMAGE,
    "host_name": "h1",
    "hypervisor_id": IMAGE,
    "aggregate_id": "1",
    "request_id": "req-1",
    "image_id": IMAGE,
    "member_id": "project",
    "network_id": IMAGE,
    "project_id": "project",
    "class_name": "default",
    "before": "2026-01-01 00:00:00",
    "migration_id": "1",
    "floating_ip_id": "1",
    "alias": "os-services",
    "console_token": "T",
    "network_label": "private",
    "subnet_id": IMAGE,
    "security_group_id": IMAGE,
    "security_group_rule_id": IMAGE,
}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
_NAMES = sorted({name for r in ROUTES for name in r.query.document(1)["properties"]})
_QUERY = st.lists(st.tuples(st.sampled_from([*_NAMES, "x"]), st.text(max_size=20)), max_size=4)
_GOOD = {
    "Flavors.create": {
        "flavor": {
            "name": "a",
            "id": "auto",
            "ram": 1,
            "vcpus": "1",
            "disk": 0,
            "swap": "",
            "OS-FLV-EXT-DATA:ephemeral": 0,
            "os-flavor-access:is_public": True,
            "description": None,
        }
    },
    "Flavors.update": {"flavor": {"description": "a"}},
    "Flavors.create_specs": {"extra_specs": {"a": "b", "c": 1}},
    "Flavors.update_spec": {"a": "b"},
    "FlavorAccess.act": {"addTenantAccess": {"tenant": "a"}},
    "Servers.create": {
        "server": {
            "name": "a",
            "flavorRef": "1",
            "imageRef": IMAGE,
            "networks": [{"uuid": PRIVATE.id, "fixed_ip": "10.0.0.9", "tag": "x"}],
            "metadata": {"a": "b"},
            "availability_zone": "nova:h1:h1",
            "min_count": 1,
            "max_count": "1",
            "user_data": "aGVsbG8=",
            "config_drive": "true",
            "security_groups": [{"name": "default"}],
            "block_device_mapping_v2": [{"uuid": IMAGE, "source_type": "image", "boot_index": 0}],
            "description": "a",
            "tags": ["a"],
            "hostname": "a-host.example",
            "accessIPv4": "10.0.0.9",
            "return_reservation_id": False,
        },
        "os:scheduler_hints": {"group": "a", "hosts": ["a"]},
    },
    "Servers.update": {"server": {"name": "a", "description": None, "accessIPv6": "::1"}},
    "ServerMetadata.merge": {"metadata": {"a": "b"}},
    "ServerMetadata.replace": {"metadata": {"a": "b"}},
    "ServerMetadata.update": {"meta": {"a": "b"}},
    "Hosts.refuse": {"status": "enable", "maintenance_mode": "disable"},
    "ImageProxyMetadata.merge": {"metadata": {"a": "b"}},
    "ImageProxyMetadata.replace": {"metadata": {"a": "b"}},
    "ImageProxyMetadata.update": {"meta": {"a": "b"}},
    "ServerTags.replace": {"tags": ["a", "b"]},
    "ServerActions.act": {"reboot": {"type": "SOFT"}},
    "ServerInterfaces.attach": {
        "interfaceAttachment": {"net_id": PRIVATE.id, "fixed_ips": [{"ip_address": "10.0.0.9"}]}
    },
    "ServerExternalEvents.create": {
        "events": [{"name": "network-changed", "server_uuid": IMAGE, "status": "failed"}]
    },
    "ServerGroups.create": {
        "server_group": {
            "name": "a",
            "policy": "anti-affinity",
            "rules": {"max_server_per_host": 2},
        }
    },
    "Keypairs.create": {"keypair": {"name": "a", "public_key": "ssh-rsa AAAA"}},
    "Aggregates.create": {"aggregate": {"name": "a", "availability_zone": "b"}},
    "Aggregates.update": {"aggregate": {"name": "a", "availability_zone": None}},
    "Aggregates.act": {"set_metadata": {"metadata": {"a": "b", "availability_zone": None}}},
    "QuotaSets.update": {"quota_set": {"instances": 5, "ram": "-1", "force": "true"}},
    "QuotaClassSets.update": {"quota_class_set": {"instances": 5, "cores": "-1"}},
    "FloatingIps.create": {"pool": "public"},
    "ImageEdits.create": {
        "name": "a",
        "visibility": "private",
        "disk_format": "qcow2",
        "min_ram": 1,
        "hw_disk_bus": "virtio",
    },
    "ImageEdits.update": [{"op": "replace", "path": "/name", "value": "b"}],
    "ImageMembers.create": {"member": "other"},
    "ImageMembers.update": {"status": "accepted"},
    "Networks.create": {"network": {"name": "a", "admin_state_up": True}},
    "Subnets.create": {
        "subnet": {"network_id": PRIVATE.id, "cidr": "10.9.0.0/24", "ip_version": 4}
    },
    "Ports.create": {"port": {"network_id": PRIVATE.id, "fixed_ips": [{"ip_address": "10.0.0.9"}]}},
    "NetworkTags.replace": {"tags": ["a", "b"]},
    "Networks.update": {"network": {"name": "a", "description": "b"}},
    "Subnets.update": {"subnet": {"name": "a"}},
    "Ports.update": {"port": {"name": "a", "security_groups": []}},
    "OsSecurityGroups.create": {"security_group": {"name": "a", "description": "b"}},
    "OsSecurityGroups.update": {"security_group": {"name": "a", "description": None}},
    "OsSecurityGroupRules.create": {
        "security_group_rule": {
            "parent_group_id": IMAGE,
            "ip_protocol": "tcp",
            "from_port": 22,
            "to_port": "23",
            "cidr": "10.0.0.0/8",
            "group_id": None,
        }
    },
    "SecurityGroups.create": {"security_group": {"name": "a", "description": "b"}},
    "SecurityGroups.update": {"security_group": {"name": "a", "stateful": True}},
    "SecurityGroupRules.create": {
        "security_group_rule": {
            "security_group_id": IMAGE,
            "direction": "ingress",
            "ethertype": "IPv4",
            "protocol": "tcp",
            "port_range_min": 22,
            "port_range_max": 22,
            "remote_ip_prefix": "10.0.0.0/8",
            "remote_group_id": None,
        }
    },
    "RemoteConsoles.create": {"remote_console": {"protocol": "vnc", "type": "novnc"}},
    "Services.update_legacy": {"host": "h1", "binary": "roost-compute", "forced_down": True},
    "Services.update": {"status": "disabled", "disabled_reason": "a", "forced_down": "false"},
}
_ODD = [
    b"",
    b"[]",
    b"null",
    b"5",
    b'"server"',
    b"{",
    b"\xff\xfe",
    b"\x00",
    b'{"server": NaN}',
    b'{"server": 1e999}',
    b'{"server": {"name": "a\\u0000b", "flavorRef": "1"}}',
    b'{"server": {"name": "\\ud800", "flavorRef": "1"}}',
    b'{"flavor": {"name": "a", "ram": 1' + b"0" * 5000 + b', "vcpus": 1, "disk": 1}}',
    b'{"flavor": {"name": "a", "ram": 99999999999999999999, "vcpus": 1, "disk": 1}}',
    b'{"flavor": {"name": "a", "ram": "9999999999", "vcpus": "1", "disk": "0"}}',
    b"[" * 100000,
    b'{"a":' * 15000 + b"1" + b"}" * 15000,
    b'{"extra_specs": {"a\\u0000": "b"}}',
]


def _spoilt(good):
    """Make a strategy of ``good`` with the value at one place replaced by anything."""
    return st.builds(_replaced, st.just(good), st.sampled_from(list(_places(good))), _JSON)


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _replaced(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _name(route):
    return f"{route.method} {route.path} {route.since}"


def _ask(client, route, minor=None, **more):
    version = microversions.name(minor or route.until)
    return client.ask(route.method, route.path.format(**_PARAMS), version=version, **more)


def _send(client, route, data, **more):
    return _ask(client, route, body=data, headers={"Content-Type": route.takes[0]}, **more)


def is_answered(answer):
    """Tell whether it is no fault of ours; what no hypervisor here can do is an answer: 501."""
    return answer.status_code < 500 or answer.status_code == 501


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Asks a world that all tests share whose requests change nothing."""
    with made_in(tmp_path_factory.mktemp("still"), ApiOptions(max_limit=5)) as world:
        yield world.client


@pytest.mark.parametrize("route", _WITH_BODY, ids=_name)
@pytest.mark.parametrize("data", _ODD, ids=range(len(_ODD)))
def test_an_odd_body_is_refused(still, route, data):
    answer = _send(still, route, data)
    nothing = data == b"[]" and isinstance(_GOOD[route.handler.__qualname__], list)
    assert answer.status_code in ((200,) if nothing else (400, 404)), answer.text
    assert answer.json


@pytest.mark.parametrize("route", _WITH_BODY, ids=_name)
def test_any_json_is_answered(world, route):
    @_SETTINGS
    @given(body=_JSON)
    def ask(body):
        answer = _send(world.client, route, json.dumps(body).encode())
        assert is_answered(answer), answer.text

    ask()


@pytest.mark.parametrize("route", _WITH_BODY, ids=_name)
def test_a_good_body_gone_bad_in_one_place_is_answered(world, route):
    @_SETTINGS
    @given(body=_spoilt(_GOOD[route.handler.__qualname__]))
    def ask(body):
        answer = _send(world.client, route, json.dumps(body).encode())
        assert is_answered(answer), answer.text

    ask()


@pytest.mark.parametrize("route", _WITH_BODY, ids=_name)
def test_the_good_bodies_fit_their_schemas(route):
    body = _GOOD[route.handler.__qualname__]
    route.body.check(body, minor=route.until, what="body")


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method == "GET"], ids=_name)
def test_any_query_is_answered(world, route):
    @_SETTINGS
    @given(query=_QUERY, minor=st.integers(microversions.MINIMUM, microversions.MAXIMUM))
    def ask(query, minor):
        params = {}
        for name, value in query:
            params.setdefault(name, []).append(value)
        answer = _ask(world.client, route, minor, params=params, params_csv=False)
        assert is_answered(answer), answer.text

    ask()


@pytest.mark.parametrize(
    "query", ["a=%00", "name=%00", "marker=%ff%fe", "limit=9" * 3, "&&==", "%"]
)
def test_odd_queries_are_answered(still, query):
    assert still.get("/v2.1/servers", query_string=query).status_code < 500


@pytest.mark.parametrize("path", ["%00", "%ff", "a%2Fb", "..", "%E2%82%AC", "x" * 5000])
def test_odd_paths_are_not_found(still, path):
    for noun in ("servers", "flavors"):
        assert still.get(f"/v2.1/{noun}/{path}").status_code == 404


@pytest.mark.parametrize("token", ["", ":", "::", "a:b:c", "é", "x" * 9000, "\x01", "admin"])
def test_any_token_is_taken(still, token):
    assert still.get("/v2.1/servers", token=token).status_code == 200


@pytest.mark.parametrize("version", ["2.x", "", "9" * 500 + ".1", "2." + "9" * 500, "2.1\x01", "é"])
def test_odd_versions_are_told_so(still, version):
    assert still.get("/v2.1/servers", version=version).status_code in (400, 406)
