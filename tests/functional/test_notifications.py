"""Notifications of all that is done to servers, as a listener gets them, through HTTP."""

import pytest
import requests
from oslo_messaging.notify import _impl_test

from roost.operations.kinds import KINDS
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.live_migrations import ask as ask_for
from tests.stories.live_migrations import slowly
from tests.stories.moves import CONFIRM, MIGRATE, REVERT, host_of, migration
from tests.stories.power import START, STOP, boot, wait_at_rest

OVERRIDES = {
    "oslo_messaging_notifications": {"driver": "test"},
    "conductor": {"reclaim_instance_interval": 3600},
    "compute": {"shelved_offload_time": -1},
}
DELETE = "delete"
ATTACH = {"interfaceAttachment": {}}
DETACH = {}
# What a user does, in an order in which one server can go through it, and its status then.
DONE = {
    "stop": (STOP, "SHUTOFF"),
    "start": (START, "ACTIVE"),
    "reboot": ({"reboot": {"type": "SOFT"}}, "ACTIVE"),
    "hard_reboot": ({"reboot": {"type": "HARD"}}, "ACTIVE"),
    "pause": ({"pause": None}, "PAUSED"),
    "unpause": ({"unpause": None}, "ACTIVE"),
    "suspend": ({"suspend": None}, "SUSPENDED"),
    "resume": ({"resume": None}, "ACTIVE"),
    "rescue": ({"rescue": None}, "RESCUE"),
    "unrescue": ({"unrescue": None}, "ACTIVE"),
    "rebuild": ({"rebuild": {"imageRef": None}}, "ACTIVE"),
    "create_image": ({"createImage": {"name": "a"}}, "ACTIVE"),
    "create_backup": (
        {"createBackup": {"name": "b", "backup_type": "daily", "rotation": 1}},
        "ACTIVE",
    ),
    "change_password": ({"changePassword": {"adminPass": "secret"}}, "ACTIVE"),
    "trigger_crash_dump": ({"trigger_crash_dump": None}, "ACTIVE"),
    "attach_interface": (ATTACH, "ACTIVE"),
    "detach_interface": (DETACH, "ACTIVE"),
    "migrate": (MIGRATE, "VERIFY_RESIZE"),
    "revert_resize": (REVERT, "ACTIVE"),
    "resize": ({"resize": {"flavorRef": None}}, "VERIFY_RESIZE"),
    "confirm_resize": (CONFIRM, "ACTIVE"),
    "live_migrate": ({"os-migrateLive": {"host": None, "block_migration": "auto"}}, "ACTIVE"),
    "shelve": ({"shelve": None}, "SHELVED"),
    "unshelve": ({"unshelve": None}, "ACTIVE"),
    "soft_delete": (DELETE, "SOFT_DELETED"),
    "restore": ({"restore": None}, "ACTIVE"),
}


OFFLOADED = {
    "shelve_offload": ({"shelveOffload": None}, "SHELVED_OFFLOADED"),
    "unshelve_offloaded": ({"unshelve": None}, "ACTIVE"),
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    with embedded_cloud(folder, cells=1, hosts=2, overrides=OVERRIDES) as cloud:
        yield cloud


def notified(uuid):
    """Return what was sent of a server: event, priority, publisher, and fields of the payload."""
    sent = [message for _context, message, _priority, _retry in list(_impl_test.NOTIFICATIONS)]
    return [
        (each["event_type"], each["priority"], each["publisher_id"], data)
        for each in sent
        if (data := each["payload"].get("nova_object.data", {})).get("uuid") == uuid
    ]


def events(uuid):
    return [event.removeprefix("instance.") for event, *_more in notified(uuid)]


def expected(kind):
    """Return the events of an operation that succeeds, by the table of kinds."""
    names = dict.fromkeys(step.event for step in kind.steps)
    return [f"{name}.{phase}" for name in names if name for phase in ("start", "end")]


def ask(cloud, uuid, body):
    if body is DELETE:
        cloud.client.delete_server(uuid)
        return
    url, told = f"{cloud.client.endpoint}/servers/{uuid}", {"timeout": 30}
    if body in (ATTACH, DETACH):
        url += "/os-interface"
    if body is DETACH:
        attached = requests.get(url, **told).json()["interfaceAttachments"]
        answer = requests.delete(f"{url}/{attached[-1]['port_id']}", **told)
    else:
        path = url if body is ATTACH else f"{url}/action"
        headers = {"OpenStack-API-Version": "compute 2.40"}
        answer = requests.post(path, json=body, headers=headers, **told)
    assert answer.status_code in (200, 202, 204), answer.text


def test_whatever_is_done_to_a_server_has_its_notifications(cloud):
    uuid = boot(cloud, networks="auto")["id"]
    wait_until(lambda: events(uuid) == ["create.end"], "the notification of the build")
    DONE["rebuild"][0]["rebuild"]["imageRef"] = cloud.image
    DONE["resize"][0]["resize"]["flavorRef"] = cloud.create_flavor(name="larger", vcpus=2)
    others = {kind.name for kind in KINDS.values() if not (kind.deletes or kind.builds)}
    assert {*DONE, *OFFLOADED, "evacuate"} == others
    found = {}
    for name, (body, status) in DONE.items():
        _impl_test.reset()
        ask(cloud, uuid, body)
        wait_at_rest(cloud, uuid, status)
        count = len(expected(KINDS[name]))
        wait_until(lambda count=count: len(events(uuid)) >= count, f"notifications of {name}")
        found[name] = events(uuid)
    assert found == {name: expected(KINDS[name]) for name in DONE}
    ask(cloud, uuid, {"shelve": None})
    wait_at_rest(cloud, uuid, "SHELVED")
    for name, (body, status) in OFFLOADED.items():
        _impl_test.reset()
        ask(cloud, uuid, body)
        wait_at_rest(cloud, uuid, status)
        wait_until(lambda name=name: events(uuid) == expected(KINDS[name]), name)
    _impl_test.reset()
    ask(cloud, uuid, {"forceDelete": None})
    deleted = expected(KINDS["delete"])
    wait_until(lambda: events(uuid) == deleted, "the notifications of the delete")


def test_a_move_that_fails_says_so_of_the_step_that_failed(cloud):
    before = boot(cloud, networks="auto")
    uuid = before["id"]
    _impl_test.reset()
    with cloud.faults({"step": "arrive", "kind": "final", "message": "it broke"}):
        ask(cloud, uuid, MIGRATE)
        wait_until(lambda: migration(cloud, uuid)["status"] == "error", "failure")
    wait_at_rest(cloud, uuid, "ACTIVE")
    assert events(uuid) == [
        *("resize_prep.start", "resize_prep.end", "resize.start", "resize.end"),
        *("resize_finish.start", "resize_finish.error", "resize_revert.end"),
    ]
    (there,) = set(cloud.hosts()) - {host_of(before)}
    _event, priority, publisher, data = notified(uuid)[-2]
    assert (priority, publisher, data["host"]) == (
        *("ERROR", f"nova-compute:{there}", host_of(before)),
    )
    assert (data["action_initiator_user"], data["request_id"][:4]) == (data["user_id"], "req-")
    fault = data["fault"]["nova_object.data"]
    assert fault["exception_message"].endswith("it broke")
    _event, priority, publisher, data = notified(uuid)[-1]
    assert (priority, publisher) == ("INFO", f"nova-compute:{host_of(before)}")
    assert (data["host"], data["state"], data["task_state"]) == (host_of(before), "active", None)
    ask(cloud, uuid, {"forceDelete": None})
    cloud.wait_gone([uuid])


def test_an_aborted_live_migration_says_so_before_its_rollback(cloud):
    with slowly(cloud) as (before, seen):
        _impl_test.reset()
        assert ask_for(cloud, "DELETE", before["id"], f"/{seen['id']}").status_code == 202
        wait_at_rest(cloud, before["id"], "ACTIVE")
    assert events(before["id"]) == [
        *("live_migration_abort.start", "live_migration_abort.end"),
        "live_migration_rollback.end",
    ]
    ask(cloud, before["id"], {"forceDelete": None})
    cloud.wait_gone([before["id"]])


def test_an_evacuation_has_its_notifications(cloud):
    """The last one: no other test needs a host that was forced down."""
    before = boot(cloud, networks="auto")
    uuid, host = before["id"], host_of(before)
    body = {"host": host, "binary": "nova-compute", "forced_down": True}
    headers = {"OpenStack-API-Version": "compute 2.40"}
    url = f"{cloud.client.endpoint}/os-services/force-down"
    assert requests.put(url, json=body, headers=headers, timeout=30).status_code == 200
    _impl_test.reset()
    ask(cloud, uuid, {"evacuate": {}})
    assert host_of(wait_at_rest(cloud, uuid, "ACTIVE")) != host
    assert events(uuid) == expected(KINDS["evacuate"])
    ask(cloud, uuid, {"forceDelete": None})
    cloud.wait_gone([uuid])
