import dataclasses

import pytest

from roost import states
from roost.api.servers import views
from roost.objects import InstanceFault, NetworkInfo, Vif
from roost.objects.instance import placement_details
from tests.builders import NOW, a_flavor, an_instance


def _looker(version=104, *, inside=True):
    return views.Viewer(
        version=version, base_url="http://api", sees_host=inside, sees_host_status=inside
    )


def _full(version=104, *, inside=True, fault=None, groups=(), **values):
    shown = views.Shown(
        instance=an_instance(**values), fault=fault, host_status="UP", groups=groups
    )
    return views.full(shown, _looker(version, inside=inside))


def test_users_learn_nothing_of_hosts():
    told = _full(inside=False, host="h1", node="n1")
    hidden = [name for name in told if name.startswith("OS-EXT-SRV-ATTR:")]
    assert hidden == ["OS-EXT-SRV-ATTR:hostname"]
    assert "host_status" not in told
    assert "h1" not in str(told["hostId"])


def test_a_guest_of_an_earlier_release_has_the_name_that_it_was_given_then():
    made = an_instance()
    shown = views.full(views.Shown(instance=made), _looker())
    assert shown["OS-EXT-SRV-ATTR:instance_name"] == f"roost-{made.uuid}"
    assert _full(instance_name="web1")["OS-EXT-SRV-ATTR:instance_name"] == "web1"


def test_the_host_id_is_the_same_for_a_project_and_differs_between_projects():
    ids = [_full(host="h1", project_id=project)["hostId"] for project in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]
    assert len(ids[0]) == 56


@pytest.mark.parametrize(
    ("vm_state", "task", "progress"),
    [
        (states.ACTIVE, None, 100),
        (states.STOPPED, states.REBUILDING, 0),
        (states.ERROR, states.REBUILD_SPAWNING, 0),
        (states.STOPPED, states.RESIZE_PREP, 0),
        (states.ACTIVE, states.RESIZE_PREP, 0),
        (states.RESIZED, None, 0),
        (states.RESIZED, states.RESIZE_REVERTING, None),
        (states.ACTIVE, states.REBOOTING, None),
        (states.STOPPED, None, None),
    ],
)
def test_progress_is_told_with_the_statuses_that_have_some(vm_state, task, progress):
    assert _full(vm_state=vm_state, task_state=task).get("progress") == progress


def test_extra_specs_of_its_flavor_are_for_those_who_may_see_them():
    shown = views.Shown(instance=an_instance(flavor=a_flavor(extra_specs={"a": "b"})))
    for sees in (True, False):
        viewer = views.Viewer(version=47, base_url="http://api", sees_specs=sees)
        assert ("extra_specs" in views.full(shown, viewer)["flavor"]) is sees


@pytest.mark.parametrize(
    ("vm_state", "task_state", "status"),
    [
        (states.BUILDING, states.SPAWNING, "BUILD"),
        (states.ACTIVE, None, "ACTIVE"),
        (states.ACTIVE, states.DELETING, "ACTIVE"),
        (states.ERROR, None, "ERROR"),
        (states.DELETED, None, "DELETED"),
    ],
)
def test_the_status_follows_from_the_states_inside(vm_state, task_state, status):
    assert _full(vm_state=vm_state, task_state=task_state)["status"] == status


def _a_fault():
    return InstanceFault(
        instance_uuid=an_instance().uuid,
        code=500,
        message="No valid host was found.",
        details="ram: 3 hosts",
        host=None,
        created_at=NOW,
    )


def test_a_fault_is_shown_while_the_server_is_in_error():
    assert _full(vm_state=states.ERROR, fault=_a_fault())["fault"]["code"] == 500
    assert "fault" not in _full(vm_state=states.ACTIVE, fault=_a_fault())


def test_the_details_of_a_fault_are_for_administrators():
    assert _full(vm_state=states.ERROR, fault=_a_fault())["fault"]["details"] == "ram: 3 hosts"
    assert "details" not in _full(vm_state=states.ERROR, fault=_a_fault(), inside=False)["fault"]


def _a_refusal():
    fault = _a_fault()
    fault.message = "No valid host was found. not enough memory"
    fault.details = placement_details("No valid host was found. 4 hosts: not enough memory", [])
    return fault


@pytest.mark.parametrize(
    ("sees_counts", "message", "names"),
    [
        (True, "No valid host was found. 4 hosts: not enough memory", {"details"}),
        (False, "No valid host was found. not enough memory", set()),
    ],
)
def test_policy_says_who_learns_how_many_hosts_there_are(sees_counts, message, names):
    shown = views.Shown(instance=an_instance(vm_state=states.ERROR), fault=_a_refusal())
    viewer = dataclasses.replace(_looker(), sees_counts=sees_counts)
    told = views.full(shown, viewer)["fault"]
    assert told["message"] == message
    assert set(told) == {"code", "message", "created"} | names


def test_counts_may_be_seen_by_who_sees_no_hosts():
    shown = views.Shown(instance=an_instance(vm_state=states.ERROR), fault=_a_refusal())
    viewer = dataclasses.replace(_looker(inside=False), sees_counts=True)
    told = views.full(shown, viewer)["fault"]
    assert "4 hosts" in told["message"]
    assert "details" not in told


def test_addresses_are_grouped_by_network():
    vif = Vif.of(
        id="p",
        network_id="n",
        network_name="private",
        mac="fa:16:3e:00:00:01",
        ip="10.0.0.5",
        cidr="10.0.0.0/24",
        gateway=None,
        host=None,
        tag=None,
    )
    told = _full(network_info=NetworkInfo(vifs=[vif]))["addresses"]
    assert told["private"][0] == {
        "version": 4,
        "addr": "10.0.0.5",
        "OS-EXT-IPS:type": "fixed",
        "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01",
    }


def test_groups_are_told_where_they_were_looked_up():
    assert _full(groups=["g"])["server_groups"] == ["g"]
    assert "server_groups" not in _full(groups=None)
