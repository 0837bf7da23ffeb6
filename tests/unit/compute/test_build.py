"""A build as its conductor and its user see it."""

import datetime

import pytest

from roost import exception, states
from roost.compute.operations.build import Build, build_flow, carry_out
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.interface import endpoint
from tests.builders import a_context, a_flavor
from tests.fakes.cell_conductor import FakeCellConductor
from tests.operation_rows import a_build


def carry(rig, instance):
    build = Build(rig.host, a_context(), a_build(instance), instance)
    carry_out(build, build_flow())
    return build


def names(events):
    return [(event.event, event.result) for event in events]


def test_the_fake_conductor_honours_the_real_interface():
    endpoint(CellConductor, FakeCellConductor())


def test_a_build_ends_active_with_its_networks(rig):
    instance = rig.instance()
    carry(rig, instance)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert instance.power_state == states.RUNNING
    assert [vif.host for vif in instance.network_info.vifs] == ["h1"]
    assert instance.launched_at.tzinfo is datetime.UTC


def test_each_step_is_an_event_on_this_host_sent_with_the_outcome(rig):
    instance = rig.instance()
    carry(rig, instance)
    events = rig.conductor.events[instance.uuid]
    steps = ("begin", "claim", "network", "image", "spawn")
    assert names(events) == [(f"compute.{step}", "Success") for step in steps]
    assert {event.host for event in events} == {"h1"}
    assert all(event.start_time <= event.finish_time for event in events)


def test_a_failed_step_says_why_in_its_event(rig):
    rig.trouble({"step": "spawn", "kind": "reschedulable", "message": "no luck"})
    instance = rig.instance()
    carry(rig, instance)
    failed = rig.conductor.events[instance.uuid][-1]
    assert (failed.event, failed.result) == ("compute.spawn", "Error")
    assert failed.details == "spawn: no luck"


def test_a_build_without_networks_asks_for_none(rig):
    instance = rig.instance(networks=[])
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE
    assert rig.conductor.ports == {}


def test_a_build_without_an_image_fetches_none(rig):
    instance = rig.instance(image=None)
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE


@pytest.mark.parametrize("gone", [{"host": "h2"}, {"attempt": 2}, {"task_state": states.DELETING}])
def test_a_build_that_is_not_wanted_here_is_dropped_in_silence(rig, gone):
    handed = rig.instance()
    rig.instance(uuid=handed.uuid, **gone)
    carry(rig, handed)
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == rig.conductor.abandoned == []


def test_a_build_begun_before_does_nothing(rig):
    instance = rig.instance()
    carry(rig, instance)
    carry(rig, instance)
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.conductor.rescheduled == []


def test_a_guest_left_by_an_earlier_attempt_makes_way(rig):
    instance = rig.instance()
    rig.trouble({"step": "announce", "kind": "reschedulable"}, {"step": "destroy", "kind": "crash"})
    carry(rig, instance)
    assert rig.virt.list_guests() == [instance.uuid]
    rig.trouble()
    again = rig.instance(uuid=instance.uuid, attempt=2)
    carry(rig, again)
    assert again.vm_state == states.ACTIVE


def test_a_host_without_room_says_which_resource_is_short(rig):
    instance = rig.instance(flavor=a_flavor(memory_mb=4096))
    carry(rig, instance)
    why = "h1 has not enough MiB of memory: 4096 requested, 3072 free"
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, why)]
    assert rig.conductor.ports == {}, "networks come after the claim"


@pytest.mark.parametrize(
    "error",
    [
        exception.NoCapacity("full"),
        exception.NotFound("no such network"),
        exception.AddressInUse("taken"),
        exception.Invalid("outside"),
    ],
)
def test_what_no_host_of_the_cell_could_cure_is_final(rig, error):
    instance = rig.instance()
    rig.conductor.fail("allocate_networks", error)
    carry(rig, instance)
    assert rig.conductor.abandoned == [(instance.uuid, "h1", 1, error.message)]
    rig.assert_clean_slate()


@pytest.mark.parametrize("method", ["allocate_networks", "end_operation"])
def test_an_instance_deleted_under_way_is_undone_in_silence(rig, method):
    instance = rig.instance()
    rig.conductor.fail(method, exception.Conflict("deleting"))
    carry(rig, instance)
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == rig.conductor.abandoned == []


def test_an_instance_gone_under_way_is_undone_in_silence(rig):
    instance = rig.instance()
    rig.conductor.fail("end_operation", exception.NotFound("gone"))
    carry(rig, instance)
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == []


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("error", [exception.Timeout("no answer"), ValueError("an accident")])
def test_an_announcement_without_an_answer_is_sent_again(rig, error, applied):
    instance = rig.instance()
    rig.conductor.fail("end_operation", error, applied=applied)
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE
    assert rig.virt.list_guests() == [instance.uuid]
    assert len(rig.conductor.events[instance.uuid]) == 5, "no event is written twice"


def test_a_server_that_is_to_be_rebuilt_before_its_host_knows_that_it_is_active_keeps_its_guest(
    rig,
):
    instance = rig.instance()
    end = rig.conductor.end_operation

    def lose_the_answer(*args, **kwargs):
        rig.conductor.end_operation = end
        end(*args, **kwargs)
        instance.task_state, instance.attempt = states.REBUILDING, instance.attempt + 1
        raise exception.Timeout("no answer")

    rig.conductor.end_operation = lose_the_answer
    carry(rig, rig.instance(uuid=instance.uuid).obj_clone())
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.conductor.rescheduled == []


def test_a_guest_that_may_be_active_is_never_destroyed(rig):
    instance = rig.instance()
    rig.conductor.fail("end_operation", *[exception.Timeout("no answer")] * 1000)
    carry(rig, instance)
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.tracker.claims.keys() == {instance.uuid}
    assert rig.conductor.rescheduled == []


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("method", ["begin_operation", "allocate_networks"])
def test_a_question_that_a_conductor_died_over_is_asked_again(rig, method, applied):
    instance = rig.instance()
    rig.conductor.fail(method, exception.Timeout("no answer"), applied=applied)
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE
    assert rig.conductor.rescheduled == []


def test_a_conductor_that_does_not_begin_for_long_is_asked_to_go_elsewhere(rig):
    instance = rig.instance()
    rig.conductor.fail("begin_operation", *[exception.Timeout("no answer")] * 1000)
    carry(rig, instance)
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "no answer")]


def test_a_failed_build_is_given_back_when_the_bus_is_there_again(rig):
    instance = rig.instance()
    rig.trouble({"step": "spawn", "kind": "final"})
    rig.conductor.fail("end_operation", *[exception.Unavailable("no bus")] * 3)
    carry(rig, instance)
    assert len(rig.conductor.abandoned) == 1


def test_a_failed_build_that_cannot_be_given_back_is_logged(rig, caplog):
    rig.trouble({"step": "spawn", "kind": "final"})
    rig.conductor.fail("end_operation", *[exception.Unavailable("no bus")] * 1000)
    carry(rig, rig.instance())
    assert "could not be handed back: no bus" in caplog.text
    rig.assert_clean_slate()


@pytest.mark.parametrize(
    "error",
    [
        exception.Unavailable("the database postgresql://roost@10.0.0.5/cell1 cannot be reached"),
        RuntimeError("Remote error: KeyError\n['Traceback: /usr/lib/roost on 10.0.0.5']"),
    ],
)
def test_users_are_not_told_of_addresses_and_tracebacks(rig, error):
    instance = rig.instance()
    rig.conductor.fail("begin_operation", *[error] * 1000)
    carry(rig, instance)
    ((_uuid, _host, _attempt, why),) = rig.conductor.rescheduled
    assert "10.0.0.5" not in why
    assert all("10.0.0.5" not in event.details for event in rig.conductor.events[instance.uuid])
