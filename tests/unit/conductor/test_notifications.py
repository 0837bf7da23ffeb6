"""Notifications of operations: what they say, when they are sent, and that they cost nothing."""

import pathlib
import re

import pytest
import sqlalchemy as sa

from roost import conf, exception, states
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.conductor.notifications import ServerNotifications
from roost.db.cell import instances, migrations, operations
from roost.objects import NetworkInfo, Operation
from roost.operations.kinds import BUILD, KINDS, MIGRATE, OF_TASK
from roost.operations.steps import ABORT, FORCE_COMPLETE
from roost.rpc.notifications import Notifier
from tests.builders import (
    CELL1,
    CELL2,
    NOW,
    a_context,
    a_flavor,
    a_keypair,
    a_migration,
    a_vif,
    an_image,
    an_instance,
)
from tests.operation_rows import a_report, begin_delete, put_under
from tests.unit.conductor.test_builds import activate
from tests.unit.conductor.test_reschedule import get, give_up, under_way
from tests.unit.golden import check_golden

DOC = pathlib.Path(__file__).parents[3] / "doc"
CHANGED_PASSWORD = KINDS["change_password"]
RUNS = ObservedGuest("h1", states.RUNNING, states.ACTIVE)
FAILED = ObservedGuest("h1", states.RUNNING, states.ACTIVE, reason="It does not want to.")


@pytest.fixture
def outcomes(cell):
    return cell.outcomes


@pytest.fixture
def begun(cell):
    """Make a server on h1 with an operation; return that."""

    def begun(task=states.POWERING_OFF, vm_state=states.ACTIVE):
        made = an_instance(host="h1", vm_state=vm_state, task_state=task)
        with cell.database.begin() as session:
            instances.create(session, made)
            put_under(session, made)
            return operations.find(session, made.uuid)

    return begun


@pytest.fixture
def moving(cell):
    """Make a server that moves from h1 to h2, and is in this step on this host; return the move."""

    def moving(step="prepare", host="h2", **values):
        made = an_instance(
            host="h1", vm_state=states.ACTIVE, task_state=MIGRATE.step(step).task, **values
        )
        move = a_migration(
            instance_uuid=made.uuid, status="migrating", new_flavor=a_flavor(name="larger", vcpus=4)
        )
        with cell.database.begin() as session:
            instances.create(session, made)
            migrations.create(session, move)
            put_under(session, made, kind=MIGRATE.name, host=host, step=step)
            return operations.find(session, made.uuid)

    return moving


def _overdue(cell):
    with cell.database.begin() as session:
        (found,) = operations.take_overdue(session, seconds=-1)
    return found


def test_the_whole_of_one_is_as_documented(cell, moving):
    server = {
        "uuid": CELL1,
        "display_name": "web-1",
        "hostname": "web-1",
        "node": "h1",
        "availability_zone": "east",
        "power_state": states.RUNNING,
        "metadata": {"role": "web"},
        "key_name": "mine",
        "image": an_image(id=CELL2, properties={"architecture": "x86_64", "os_type": "linux"}),
        "network_info": NetworkInfo.of(vifs=[a_vif(id=CELL2)]),
        "launched_at": NOW,
    }
    operation = moving(**server)
    sent = []

    class Listener:
        enabled = True

        def error(self, context, event, payload, *, publisher):
            sent.append({"event_type": event, "priority": "ERROR", "publisher_id": publisher})
            sent[-1]["payload"] = payload

    notifications = ServerNotifications(cell.database, Listener())
    context = a_context(request_id="req-8f2a7d1c-0c1e-4b5e-9a55-1f6f3c0b7d11")
    notifications.ended(context, operation, "There is no room for the disks.")
    (message,) = sent
    check_golden(DOC / "examples/notification.json", message)


def test_an_operation_has_a_notification_of_its_start_and_one_of_its_end(cell, outcomes, begun):
    operation = begun()
    outcomes.take_up(cell.context, operation, seconds=30)
    outcomes.end(
        cell.context, operation, a_report(ObservedGuest("h1", states.SHUTDOWN, states.STOPPED))
    )
    assert cell.notifier.events() == ["instance.power_off.start", "instance.power_off.end"]
    assert cell.notifier.publishers == ["nova-compute:h1"] * 2
    before, after = [payload["nova_object.data"] for _event, payload in cell.notifier.sent]
    assert (before["state"], before["task_state"]) == ("active", "powering-off")
    assert (after["state"], after["task_state"], after["power_state"]) == (
        *("stopped", None, "shutdown"),
    )
    assert after["fault"] is None


def test_an_operation_that_failed_has_one_of_its_error_which_says_why(cell, outcomes, begun):
    outcomes.end(cell.context, begun(), a_report(FAILED))
    assert cell.notifier.errors == ["instance.power_off.error"]
    ((_event, payload),) = cell.notifier.sent
    fault = payload["nova_object.data"]["fault"]["nova_object.data"]
    assert fault["exception_message"] == FAILED.reason


def test_without_its_guest_it_has_failed_whatever_its_host_says(cell, outcomes, begun):
    outcomes.end(cell.context, begun(states.REBOOTING_HARD), a_report(ObservedGuest("h1", None)))
    assert cell.notifier.errors == ["instance.reboot.error"]


def test_one_that_nobody_does_any_more_has_failed(cell, outcomes, begun):
    begun()
    overdue = _overdue(cell)
    outcomes.overdue(cell.context, overdue, is_down=True)
    with pytest.raises(exception.Conflict):
        outcomes.overdue(cell.context, overdue, is_down=True)
    assert cell.notifier.events() == cell.notifier.errors == ["instance.power_off.error"]


def test_one_that_goes_on_until_it_is_done_ends_well(cell, outcomes, begun):
    operation = begun(states.SOFT_DELETING)
    outcomes.end(cell.context, operation, a_report(FAILED))
    assert cell.notifier.sent == []  # it is sent there again
    outcomes.overdue(cell.context, _overdue(cell), is_down=True)
    assert cell.notifier.events() == ["instance.soft_delete.end"]
    assert cell.notifier.errors == []


def test_what_a_host_may_not_begin_or_end_has_none(cell, outcomes, begun):
    operation = begun()
    outcomes.end(cell.context, operation, a_report(RUNS))
    cell.notifier.sent.clear()
    assert outcomes.take_up(cell.context, operation, seconds=30) is None
    with pytest.raises(exception.Conflict):
        outcomes.end(cell.context, operation, a_report(RUNS))
    assert cell.notifier.sent == []


@pytest.mark.parametrize(
    ("step", "host", "failed"),
    [
        ("prepare", "h2", "resize_prep"),
        ("send", "h1", "resize"),
        ("arrive", "h2", "resize_finish"),
    ],
)
def test_of_a_move_the_step_that_failed_has_one_and_so_has_the_end_of_the_way_back(
    cell, moving, step, host, failed
):
    operation = moving(step, host)
    reason = "it broke"
    while operation is not None:
        found = ObservedGuest(operation.host, states.RUNNING, states.ACTIVE, reason=reason)
        cell.outcomes.end(cell.context, operation, a_report(found))
        reason = None
        with cell.database.read() as session:
            operation = operations.find(session, operation.instance_uuid)
    assert cell.notifier.errors == [f"instance.{failed}.error"]
    assert cell.notifier.events() == [*cell.notifier.errors, "instance.resize_revert.end"]
    assert cell.notifier.publishers == [f"nova-compute:{host}", "nova-compute:h1"]
    back = cell.notifier.sent[-1][1]["nova_object.data"]
    assert (back["host"], back["task_state"], back["fault"]) == ("h1", None, None)


def test_it_is_sent_after_the_change_and_before_the_next_host_begins(cell, moving):
    operation, seen = moving(), []

    class Listener:
        enabled = True

        def info(self, _context, event, _payload, *, publisher):
            with cell.database.read() as session:
                now = operations.find(session, operation.instance_uuid)
            seen.append((event, publisher, now.step, list(cell.bus.sent)))

    cell.notifier = Listener()
    found = ObservedGuest("h2", states.RUNNING, states.ACTIVE)
    cell.outcomes.end(cell.context, operation, a_report(found))
    assert seen == [("instance.resize_prep.end", "nova-compute:h2", "send", [])]
    assert [(host, sent["operation"].step) for host, _, sent in cell.bus.sent] == [("h1", "send")]


def test_one_that_cannot_be_sent_is_logged_and_all_else_goes_on(
    cell, outcomes, begun, monkeypatch, caplog
):
    def fail(*_details, **_more):
        raise exception.Unavailable("the database is away")

    operation = begun()
    monkeypatch.setattr(ServerNotifications, "_read", fail)
    assert outcomes.take_up(cell.context, operation, seconds=30) is not None
    outcomes.end(cell.context, operation, a_report(RUNS))
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"[instance: {operation.instance_uuid}] could not read what the notification"
        f" instance.power_off.{phase} needs"
        for phase in ("start", "end")
    ]


def test_a_server_that_was_deleted_meanwhile_has_none(cell, begun):
    operation = begun()
    with cell.database.begin() as session:
        instances.mark_deleted(session, operation.instance_uuid)
    ServerNotifications(cell.database, cell.notifier).ended(cell.context, operation, None)
    assert cell.notifier.sent == []


def test_switched_off_they_cost_no_statement(cell, outcomes, begun, moving, monkeypatch):
    def statements():
        seen = []

        def note(_connection, _cursor, statement, *_more):
            if not statement.startswith("BEGIN"):
                seen.append(statement)

        operation, move = begun(), moving()
        with cell.database.read() as session:  # else it may do so meanwhile
            cell.database._clock.read(session)
        sa.event.listen(cell.database.engine, "before_cursor_execute", note)
        outcomes.take_up(cell.context, operation, seconds=30)
        outcomes.end(cell.context, operation, a_report(RUNS))
        outcomes.take_up(cell.context, move, seconds=30)
        report = a_report(ObservedGuest("h2", states.RUNNING, states.ACTIVE))
        cell.outcomes.end(cell.context, move, report)
        sa.event.remove(cell.database.engine, "before_cursor_execute", note)
        return seen

    switched_on = statements()
    cell.notifier.enabled = False
    switched_off = statements()
    monkeypatch.setattr(ServerNotifications, "_send", lambda *_, **__: None)
    assert switched_off == statements()
    # The servers, and a migration twice; not whether the next host, which will ask, is forced down.
    assert len(switched_on) == len(switched_off) + 4 + 2 - 1


def test_a_delete_has_one_once_it_is_over(cell):
    made = an_instance(host="h1", vm_state=states.ACTIVE, task_state=None)
    with cell.database.begin() as session:
        instances.create(session, made)
    operation, gone = begin_delete(cell.database, made.uuid), ObservedGuest("h1", None)
    cell.outcomes.end(cell.context, operation, a_report(gone))
    with pytest.raises(exception.Conflict):
        cell.outcomes.end(cell.context, operation, a_report(gone))
    assert cell.notifier.events() == ["instance.delete.end"]
    assert cell.notifier.publishers == ["nova-compute:h1"]
    data = cell.notifier.sent[0][1]["nova_object.data"]
    assert (data["state"], data["terminated_at"]) == ("deleted", data["deleted_at"])
    assert data["deleted_at"] is not None


@pytest.mark.parametrize("vm_state", [states.ACTIVE, states.ERROR])
def test_only_a_build_that_ends_well_has_one_of_its_end(cell, vm_state):
    made = under_way(cell)
    if vm_state == states.ACTIVE:
        activate(cell, made.uuid)
    else:
        give_up(cell, made.uuid, "the image is corrupt")
    assert get(cell, made.uuid).vm_state == vm_state
    assert ("instance.create.end" in cell.notifier.events()) is (vm_state == states.ACTIVE)


def test_that_of_a_build_has_the_key_pair_and_the_tags(cell):
    made = an_instance(
        host="h1", vm_state=states.ACTIVE, task_state=None, keypair=a_keypair(), tags=["blue"],
        instance_name="web1",
    )  # fmt: skip
    with cell.database.begin() as session:
        instances.create(session, made)
    ServerNotifications(cell.database, cell.notifier).built(cell.context, made.uuid)
    ((event, payload),) = cell.notifier.sent
    assert (event, payload["nova_object.name"]) == ("instance.create.end", "InstanceCreatePayload")
    data = payload["nova_object.data"]
    (keypair,) = data["keypairs"]
    assert keypair["nova_object.data"]["public_key"] == made.keypair.public_key
    assert data["instance_name"] == "web1"
    assert (data["tags"], data["trusted_image_certificates"]) == (["blue"], None)


@pytest.mark.parametrize(
    ("drivers", "enabled"),
    [([], False), (["noop"], False), (["messagingv2"], True), (["noop", "log"], True)],
)
def test_they_are_switched_on_by_a_driver(tmp_path, drivers, enabled):
    lines = [
        *("[DEFAULT]", "transport_url = fake://", "[oslo_messaging_notifications]"),
        *(f"driver = {driver}" for driver in drivers),
    ]
    file = tmp_path / "roost.conf"
    file.write_text("\n".join(lines))
    assert Notifier(conf.load([], files=[str(file)]), "someone:h1").enabled is enabled


def test_each_kind_has_an_event_or_its_steps_have_but_for_the_password():
    unnamed = [kind for kind in KINDS.values() if not any(step.event for step in kind.steps)]
    assert unnamed == [BUILD, CHANGED_PASSWORD]  # that of a build has a payload of its own


def test_an_event_of_two_steps_begins_with_one_and_ends_with_the_other():
    kind = KINDS["revert_resize"]
    assert [kind.event_of(step.name) for step in kind.steps] == ["resize_revert", None]
    assert [kind.event_of(step.name, ends=True) for step in kind.steps] == [None, "resize_revert"]
    assert OF_TASK[states.RESIZE_PREP].event_of("withdraw", ends=True) is None


def test_the_documentation_lists_each_event():
    text = (DOC / "notifications.rst").read_text()
    listed = {*re.findall(r"^``instance\.(\w+)``(?:  |$)", text, re.MULTILINE)}
    steps = [step for kind in KINDS.values() for step in kind.steps]
    events = {each.event for step in steps for each in (step, step.undo) if each is not None}
    asked = {f"live_migration_{what}" for what in (ABORT, FORCE_COMPLETE)}
    assert listed == (events | asked) - {None}


def test_an_unnamed_kind_has_none(cell):
    operation = Operation.of(
        uuid=CELL1, instance_uuid=CELL1, kind="change_password", host="h1", step="change_password"
    )
    ServerNotifications(None, cell.notifier).begun(cell.context, operation)
    assert cell.notifier.sent == []
