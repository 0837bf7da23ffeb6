"""What a host does about guests of builds that its daemon died over, and began no more."""

import pytest

from roost import exception, states


@pytest.fixture
def left(rig, boot):
    """The row of a build that is under way here, with its guest, to a daemon that just started."""
    instance = rig.instance()
    before = rig.manager()
    before.start()
    boot(before, instance)
    rig.unannounce(instance.uuid)
    instance.vm_state, instance.task_state = states.BUILDING, states.SPAWNING
    instance.launched_at = None
    return instance


@pytest.fixture
def manager(rig, left):
    manager = rig.manager()
    manager.start()
    assert rig.virt.list_guests() == [left.uuid]
    return manager


def test_the_guest_goes_as_soon_as_its_build_goes_on_elsewhere(rig, manager, left):
    manager.watch()
    assert rig.virt.list_guests() == [left.uuid]
    left.host, left.attempt = "h2", 2
    manager.watch()
    assert rig.virt.list_guests() == []
    assert rig.conductor.findings == [("leftover_destroyed", left.uuid)]


def test_a_guest_whose_build_was_announced_after_all_stays(rig, manager, left):
    left.vm_state, left.task_state = states.ACTIVE, None
    manager.watch()
    assert rig.virt.list_guests() == [left.uuid]


def test_while_the_cell_does_not_answer_the_guest_is_not_forgotten(rig, manager, left, monkeypatch):
    def away(*_arguments, **_values):
        raise exception.Unavailable("no cell-conductor")

    with monkeypatch.context() as patch:
        patch.setattr(rig.conductor, "locate_instances", away)
        with pytest.raises(exception.Unavailable):
            manager.watch()
    left.host, left.attempt = "h2", 2
    manager.watch()
    assert rig.virt.list_guests() == []
