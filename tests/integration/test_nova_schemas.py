"""Every route of Compute answers as Nova says, in every microversion from which that differs.

The schemas are Nova's own, read where it is installed (``tests/external/nova.py``). What differs
for
a reason is in ``tests/external/nova_differences.py``.
"""

import json
import re

import pytest

from roost import states
from roost.api import microversions
from roost.api.compute.service_views import UUIDS, small
from roost.api.dependencies import ApiOptions
from roost.api.servers.actions import BODY
from roost.db.api import quota
from roost.db.cell import faults, instances, migrations, operations
from roost.objects import InstanceFault, NetworkInfo
from roost.standalone.tables import ROUTES
from tests import api_harness
from tests.api_harness import IMAGE, LARGER
from tests.builders import CELL1, NOW, a_context, a_migration, a_uuid, a_vif
from tests.external import nova
from tests.fakes.service_groups import force_down
from tests.functional.api.sample_requests import body_of, operation_of, prepare, say_that_it_is_up

COMPUTE = [route for route in ROUTES if route.path.startswith("/v2.1")]
ACT = "/v2.1/servers/{server_id}/action"
_EVER = microversions.MAXIMUM
_MIGRATION = "/v2.1/servers/{server_id}/migrations/{migration_id}"
_VOLUME = "/v2.1/servers/{server_id}/os-volume_attachments/{volume_id}"
# What is not answered with success: operation, until which microversion, status, and why.
REFUSED = (
    ("GET /v2.1/os-console-auth-tokens/{console_token}", 30, 400, "of RDP only, which is nowhere"),
    ("PUT /v2.1/os-hosts/{host_name}", _EVER, 501, "no hypervisor here does it"),
    ("GET /v2.1/os-hosts/{host_name}/startup", _EVER, 501, "likewise"),
    ("GET /v2.1/os-hosts/{host_name}/shutdown", _EVER, 501, "likewise"),
    ("GET /v2.1/os-hosts/{host_name}/reboot", _EVER, 501, "likewise"),
    ("GET /v2.1/servers/{server_id}/migrations/{migration_id}", _EVER, 404, "there are none"),
    ("GET /v2.1/os-floating-ips/{floating_ip_id}", _EVER, 404, "local networks have none"),
    ("POST /v2.1/os-floating-ips", _EVER, 404, "likewise"),
    ("DELETE /v2.1/os-floating-ips/{floating_ip_id}", _EVER, 404, "likewise"),
    (f"DELETE {_MIGRATION}", _EVER, 404, "the server is not migrated"),
    (f"POST {_MIGRATION}/action", _EVER, 404, "likewise"),
    (f"GET {_VOLUME}", _EVER, 404, "there are no volumes"),
    ("POST /v2.1/servers/{server_id}/os-volume_attachments", _EVER, 501, "likewise"),
    (f"PUT {_VOLUME}", _EVER, 501, "likewise"),
    (f"DELETE {_VOLUME}", _EVER, 501, "likewise"),
)
_NUMBERED = (
    "GET /v2.1/os-hypervisors/{hypervisor_id}",
    "GET /v2.1/os-hypervisors/{hypervisor_id}/uptime",
    "DELETE /v2.1/os-services/{service_id}",
)
_OLDER_BODIES = {  # before the microversion
    "POST /v2.1/os-server-groups": (64, {"server_group": {"name": "a", "policies": ["affinity"]}})
}
_UP = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "node": "h1"}
# Operations of Nova that are served nowhere here, and why.
LACKED = (
    (r".* /os-(volumes|volumes_boot|snapshots|assisted-volume-snapshots)(/.*)?", "no volumes"),
    (r".* /servers/\{server_id\}/shares(/.*)?", "no file systems to share"),
    (r".* /os-baremetal-nodes(/.*)?", "no bare metal"),
    (r"POST /os-aggregates/\{id\}/images", "hosts get images with servers only"),
    (r"GET /versions/\{id\}", "there is one version"),
)
# What is asked one after the other, where bodies name actions.
SEQUENCES = {
    "POST /v2.1/flavors/{flavor_id}/action": (
        {"addTenantAccess": {"tenant": "a"}},
        {"removeTenantAccess": {"tenant": "a"}},
    ),
    f"POST {_MIGRATION}/action": ({"force_complete": None},),
    "POST /v2.1/os-aggregates/{aggregate_id}/action": (
        {"set_metadata": {"metadata": {"a": "b"}}},
        {"add_host": {"host": "h1"}},
        {"remove_host": {"host": "h1"}},
    ),
}
_LIVE = {"host": None, "block_migration": False}
# Action -> what the server is like, and what the action is given, in a microversion perhaps.
ACTIONS = {
    "os-start": ({"vm_state": states.STOPPED}, None),
    "os-stop": ({}, None),
    "reboot": ({}, {"type": "SOFT"}),
    "pause": ({}, None),
    "unpause": ({"vm_state": states.PAUSED}, None),
    "suspend": ({}, None),
    "resume": ({"vm_state": states.SUSPENDED}, None),
    "rebuild": ({}, {"imageRef": IMAGE, "metadata": {"a": "b"}}),
    "createImage": ({}, {"name": "a"}),
    "createBackup": ({}, {"name": "a", "backup_type": "daily", "rotation": 1}),
    "rescue": ({}, None),
    "unrescue": ({"vm_state": states.RESCUED}, None),
    "changePassword": ({}, {"adminPass": "secret"}),
    "trigger_crash_dump": ({}, None),
    "migrate": ({}, None),
    "shelve": ({}, None),
    "shelveOffload": ({"vm_state": states.SHELVED, "shelved_image_id": IMAGE}, None),
    "unshelve": (
        {"vm_state": states.SHELVED_OFFLOADED, "shelved_image_id": IMAGE, "host": None},
        lambda minor: {"availability_zone": "nova"} if minor >= 77 else None,
    ),
    "evacuate": ({"host": "dead"}, lambda minor: {"onSharedStorage": True} if minor < 14 else {}),
    "os-migrateLive": (
        {},
        lambda minor: _LIVE | ({"disk_over_commit": False} if minor < 25 else {}),
    ),
    "resize": ({}, {"flavorRef": LARGER}),
    "confirmResize": ({"vm_state": states.RESIZED, "power_state": states.RUNNING}, None),
    "revertResize": ({"vm_state": states.RESIZED}, None),
    "lock": ({}, None),
    "unlock": ({"locked": True}, None),
    "os-resetState": ({}, {"state": "error"}),
    "injectNetworkInfo": ({}, None),
    "os-getConsoleOutput": ({}, {}),
    "os-getVNCConsole": ({}, {"type": "novnc"}),
    "os-getSPICEConsole": ({}, {"type": "spice-html5"}),
    "os-getSerialConsole": ({}, {"type": "serial"}),
    "forceDelete": ({}, None),
    "restore": ({}, None),  # once it was deleted
    "addSecurityGroup": ({}, {"name": "another"}),
    "removeSecurityGroup": ({}, {"name": "default"}),
}
REFUSED_ACTIONS = {
    "addFixedIp": "400: addresses come with interfaces",
    "removeFixedIp": "400: and go with them",
    "os-getRDPConsole": "501: no hypervisor here has such consoles, nor has Nova any more",
    "addFloatingIp": "404: local networks have no floating addresses",
    "removeFloatingIp": "404: likewise",
}


class _Administrator:
    """Takes everybody for an administrator in the project and of the name that all belongs to."""

    def process_request(self, req, resp):
        req.context.caller = a_context(
            roles=["admin", "member", "reader"],
            is_admin=True,
            request_id=req.context.request_id,
        )


@pytest.fixture(scope="module")
def shapes(nova_folder):
    return nova.read(nova_folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    unlimited = ApiOptions(
        max_limit=1000, keeps_deleted=True, quota=dict.fromkeys(ApiOptions().quota, -1)
    )
    folder = tmp_path_factory.mktemp("world")
    with api_harness.made_in(folder, unlimited, authentication=_Administrator()) as world:
        world.add_larger_flavor()
        _many_kinds_of_servers(world)
        yield world


@pytest.fixture(autouse=True)
def usages(world):
    """Let what is used be what there is: these servers are not charged for, and some end."""
    with world.api_db.begin() as session:
        quota.recount(session, "project")


def _many_kinds_of_servers(world):
    """Have servers in lists that are as different as they get, and what they are to be given."""
    world.security_group(name="another")
    world.place(CELL1, **_rich())
    world.build_request()
    world.place(CELL1, image=None, host="h1", vm_state=states.DELETED, deleted_at=NOW)
    failed = world.place(CELL1, vm_state=states.ERROR, task_state=None)
    fault = InstanceFault(
        instance_uuid=failed.uuid,
        code=500,
        message="No valid host was found.",
        details="disk full",
        host="h1",
        created_at=NOW,
    )
    with world.databases[CELL1].begin() as session:
        faults.add(session, fault)


def _rich():
    return _UP | {
        "metadata": {"a": "b"},
        "tags": ["a"],
        "key_name": "a",
        "user_data": "aGk=",
        "config_drive": True,
        "access_ip_v4": "192.0.2.1",
        "access_ip_v6": "2001:db8::1",
        "availability_zone": "nova",
        "launched_at": NOW,
        "updated_at": NOW,
        "locked": True,
        "locked_reason": "a",
        "security_groups": ["default"],
        "trusted_certs": ["a"],
        "network_info": NetworkInfo.of(vifs=[a_vif(), a_vif(ip="2001:db8::2")]),
    }


def _older_names(route, minor, things):
    """Return what goes by a number before 2.53."""
    if minor >= UUIDS or operation_of(route) not in _NUMBERED:
        return {}
    names = ("hypervisor_id", "service_id")
    return {name: str(small(things[name])) for name in names if f"{{{name}}}" in route.path}


def _bodies(route, minor, things):
    since, older = _OLDER_BODIES.get(operation_of(route), (0, None))
    usual = older if minor < since else body_of(route, things)
    return SEQUENCES.get(operation_of(route), (usual,))


def _minors(operations, route):
    """Return the microversions to ask in: wherever anything begins, here or there, and the last."""
    begins = {minor for operation in operations for minor in operation.beginnings()}
    begins |= {route.since, route.until, *(route.body.documents if route.body else ())}
    return sorted(minor for minor in begins if route.since <= minor <= route.until)


def _refusal(route, minor):
    """Return the status that refuses it, if that is so."""
    return next(
        (
            code
            for name, until, code, _ in REFUSED
            if (name, until >= minor) == (operation_of(route), True)
        ),
        None,
    )


def _wrong(world, shapes, request, minor, body, *, refusal=None):
    """Ask, and return what is wrong with the answer."""
    method, path = request.split(" ", 1)
    sent = b"" if body is None else json.dumps(body)
    version = microversions.name(minor)
    answer = world.client.ask(
        method, path, version=version, body=sent, headers={"Content-Type": "application/json"}
    )
    if answer.status_code == refusal:
        return []
    if answer.status_code >= 300 or refusal:
        return [f"{version} {request}: {answer.status_code} {answer.text}"]
    told = answer.json if answer.content else None
    return shapes.problems(method, path, body, minor, answer.status_code, told)


@pytest.mark.parametrize(
    "route", [r for r in COMPUTE if r.path != ACT], ids=lambda r: f"{operation_of(r)} {r.since}"
)
def test_an_answer_has_the_shape_that_nova_gives_it(world, shapes, route):
    operations = shapes.of_path(route.method, route.path).values()
    assert operations, "Nova has no such thing"
    wrong = []
    for minor in _minors(operations, route):
        things = prepare(world, route)
        things |= _older_names(route, minor, things)
        request = f"{route.method} {route.path.format(**things)}"
        status = _refusal(route, minor)
        for body in _bodies(route, minor, things):
            wrong += _wrong(world, shapes, request, minor, body, refusal=status)
    assert wrong == []


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_answers_as_in_nova(world, shapes, action):
    values, given = ACTIONS[action]
    (route,) = (route for route in COMPUTE if route.path == ACT)
    operation = shapes.of_path("POST", ACT)[action]
    taking = [minor for minor, doc in BODY.documents.items() if action in doc["properties"]]
    last = max(minor for minor in range(1, microversions.MAXIMUM + 1) if _takes(action, minor))
    wrong = []
    for minor in sorted({*operation.beginnings(), *taking, last}):
        server = world.place(CELL1, **_rich() | {"uuid": a_uuid(), "locked": False} | values)
        say_that_it_is_up(world, "h1")
        force_down(world.databases[CELL1], "dead")
        if server.vm_state == states.RESIZED:
            with world.databases[CELL1].begin() as session:
                moved = a_migration(
                    instance_uuid=server.uuid, source_host="h9", dest_host=server.host
                )
                migrations.create(session, moved)
        if action == "restore":
            _put_away(world, server.uuid)
        path = route.path.format(server_id=server.uuid)
        body = {action: given(minor) if callable(given) else given}
        wrong += _wrong(world, shapes, f"POST {path}", minor, body)
    assert wrong == []


def _put_away(world, uuid):
    assert world.client.delete(f"/v2.1/servers/{uuid}").status_code == 204
    rest = {"vm_state": states.SOFT_DELETED, "task_state": None}
    with world.databases[CELL1].begin() as session:
        instances.update(session, uuid, rest, expected={})
        operations.preempt(session, uuid, "it has ended")


def _takes(action, minor):
    document = BODY.documents[max(since for since in BODY.documents if since <= minor)]
    return action in document["properties"]


def test_every_action_is_asked_for(shapes):
    known = {name for document in BODY.documents.values() for name in document["properties"]}
    assert known == {*ACTIONS, *REFUSED_ACTIONS}
    of_nova = shapes.of_path("POST", ACT)
    assert {name for name, act in of_nova.items() if not act.gone} - known == set()
    for operation, bodies in SEQUENCES.items():
        assert {*shapes.of_path(*operation.split())} == {name for body in bodies for name in body}


def test_what_nova_serves_is_served_here_or_said_to_be_lacking(shapes):
    paths = {(route.method, route.path) for route in COMPUTE}
    served = {str(each) for path in paths for each in shapes.of_path(*path).values()}
    others = {str(each) for each in shapes.operations if not each.gone} - served
    reasons = [pattern for pattern, _ in LACKED]
    assert [each for each in others if not any(re.fullmatch(one, each) for one in reasons)] == []
    assert [one for one in reasons if not any(re.fullmatch(one, each) for each in others)] == []


def test_what_nova_has_given_up_is_gone_here(world, shapes):
    left = []
    for operation in shapes.operations:
        if operation.gone and not operation.action:
            path = "/v2.1" + operation.path.replace("{", "").replace("}", "")
            answer = world.client.ask(operation.method, path)
            left += [str(operation)] if answer.status_code != 410 else []
    assert left == []
