import itertools

from roost import states
from roost.operations.kinds import (
    BUILD,
    CREATE_BACKUP,
    CREATE_IMAGE,
    DELETE,
    EVACUATE,
    MIGRATE,
    OF_TASK,
    REBUILD,
    RESTORE,
    SOFT_DELETE,
)
from roost.operations.shelve_kinds import SHELVE, SHELVE_OFFLOAD, UNSHELVE_OFFLOADED
from roost.operations.transitions import RESETS, TRANSITIONS, may_follow
from roost.states import State

PUT_AWAY = (*SOFT_DELETE.tasks, *RESTORE.tasks, *DELETE.tasks)
OF_MOVES = {task for task, kind in OF_TASK.items() if kind.is_move}
TASKS = [task for task in OF_TASK if task not in (*PUT_AWAY, *OF_MOVES, *BUILD.tasks)]


def test_every_move_leads_to_a_state_of_the_table():
    for before, afters in TRANSITIONS.items():
        assert afters <= set(TRANSITIONS), before


def test_every_state_can_end():
    for state in TRANSITIONS:
        assert _reach(state, State(states.DELETED)), state


def test_nothing_comes_back_from_deletion():
    ending = [state for state in TRANSITIONS if state.task == states.DELETING]
    assert {state.vm for state in ending} == {
        *("building", "active", "paused", "suspended", "stopped", "rescued", "error"),
        *("resized", "soft-delete", "shelved", "shelved_offloaded"),
    }
    for state in ending:
        assert TRANSITIONS[state] == {state, State(states.DELETED)}


def test_every_task_can_be_cut_short_by_a_delete():
    for state in TRANSITIONS:
        if state.vm != states.DELETED:
            assert may_follow(state, State(state.vm, states.DELETING)), state


def test_a_server_becomes_active_after_its_guest_was_spawned_or_a_task_or_went_on():
    before = {state for state, afters in TRANSITIONS.items() if State(states.ACTIVE) in afters}
    went_on = {State(states.PAUSED), State(states.SUSPENDED), State(states.RESCUED)}
    restored = State(states.SOFT_DELETED, states.RESTORING)
    building = {State(states.BUILDING, task) for task in BUILD.tasks}
    found_again = State(states.ERROR)
    moved = {
        state
        for state in TRANSITIONS
        if state.task in OF_MOVES and (state.vm != states.STOPPED or state.task in EVACUATE.tasks)
    }
    offloading = {state for state in TRANSITIONS if state.task in SHELVE_OFFLOAD.tasks}
    tasks = _under_tasks() - offloading
    assert before == {*building, restored, found_again, *tasks, *went_on, *moved}


def test_whatever_is_done_to_a_server_it_can_be_put_away_unless_it_is_none_or_in_error():
    refused = (
        *(states.BUILDING, states.ERROR, states.RESIZED, states.DELETED),
        *(states.SHELVED, states.SHELVED_OFFLOADED),
    )
    ending = (states.DELETING, states.SOFT_DELETING, *OF_MOVES)
    for state in TRANSITIONS:
        if state.task not in ending:
            away = State(state.vm, states.SOFT_DELETING)
            assert may_follow(state, away) == (state.vm not in refused), state


def test_what_is_to_be_put_away_ends_so_or_is_deleted():
    for vm in (*states.WITH_GUEST, states.SOFT_DELETED):
        assert TRANSITIONS[State(vm, states.SOFT_DELETING)] == {
            State(states.SOFT_DELETED),
            State(vm, states.DELETING),
            State(states.DELETED),
        }


def test_what_is_put_away_is_restored_or_deleted_and_nothing_else():
    assert TRANSITIONS[State(states.SOFT_DELETED)] == {
        *(State(states.SOFT_DELETED, task) for task in PUT_AWAY),
        State(states.DELETED),
    }


def test_at_rest_a_server_follows_its_guest_unless_it_is_to_be_stopped():
    found = {State(vm) for vm in states.WITH_GUEST}
    for state in found - {State(states.STOPPED)}:
        assert found - {state} <= TRANSITIONS[state]
    assert found & TRANSITIONS[State(states.STOPPED)] == {State(states.RESCUED)}


def test_what_an_administrator_may_declare_is_active_or_error_but_not_of_builds_and_deletes():
    assert set().union(*RESETS.values()) == {State(states.ACTIVE), State(states.ERROR)}
    others = set(TRANSITIONS) - set(RESETS)
    ending = {*PUT_AWAY}
    assert {s.task for s in others} == {
        *states.BUILD_TASKS,
        *ending,
        *OF_MOVES,
        *UNSHELVE_OFFLOADED.tasks,
        None,
    }
    assert {s.vm for s in others if s.task is None} == {
        *(states.DELETED, states.SOFT_DELETED, states.SHELVED_OFFLOADED)
    }


def test_a_move_ends_where_it_began_or_where_it_leads_and_only_a_delete_cuts_it_short():
    for vm in (states.ACTIVE, states.STOPPED):
        others = {
            *map(State, (vm, states.RESIZED, states.DELETED)),
            State(vm, states.DELETING),
        }
        for task in MIGRATE.tasks:
            assert TRANSITIONS[State(vm, task)] == others | {State(vm, t) for t in MIGRATE.tasks}
    assert {after.task for after in TRANSITIONS[State(states.RESIZED)]} == {
        *(states.RESIZE_CONFIRMING, states.RESIZE_REVERTING, states.DELETING, None)
    }
    assert State(states.ERROR) not in TRANSITIONS[State(states.RESIZED)]


def test_a_task_ends_as_the_guest_is_found_or_where_it_began():
    for state in _under_tasks():
        if state.task in SHELVE_OFFLOAD.tasks:
            continue
        found = {*map(State, states.WITH_GUEST), State(states.ERROR)}
        assert found | {State(state.vm)} <= TRANSITIONS[state]


def test_what_a_server_may_be_told_depends_on_where_it_rests():
    images = {"image_snapshot_pending", "image_backup"}
    crash = states.TRIGGERING_CRASH_DUMP
    assert _tasks_of(states.ACTIVE) == {
        crash,
        *("powering-off", "rebooting", "rebooting_hard", "pausing", "suspending"),
        *("rebuilding", "rescuing", "updating_password", "shelving"),
        *images,
    }
    assert _tasks_of(states.PAUSED) == {"unpausing", "rebooting_hard", "shelving", crash, *images}
    assert _tasks_of(states.SUSPENDED) == {"resuming", "rebooting_hard", "shelving", *images}
    assert _tasks_of(states.RESCUED) == {"unrescuing", crash}
    new = {"rebuilding", "rescuing"}
    assert _tasks_of(states.STOPPED) == {
        *("powering-on", "rebooting_hard", "shelving"),
        *new,
        *images,
    }
    assert _tasks_of(states.ERROR) == {"powering-off", "rebooting_hard", crash, *new}
    assert _tasks_of(states.BUILDING) == set()
    assert _tasks_of(states.SHELVED) == {"unshelving", "shelving_offloading"}
    assert _tasks_of(states.SHELVED_OFFLOADED) == {"unshelving"}


def test_a_task_under_way_gives_way_only_to_a_harder_reboot_or_its_next_step():
    moves = {
        (before.task, after.task)
        for before in _under_tasks()
        for after in TRANSITIONS[before]
        if after.task in TASKS
    }
    steps = {
        *itertools.product(REBUILD.tasks, REBUILD.tasks[1:]),
        *itertools.product(CREATE_IMAGE.tasks, CREATE_IMAGE.tasks[1:]),
        *itertools.product(CREATE_BACKUP.tasks, CREATE_BACKUP.tasks[1:]),
        *itertools.product(SHELVE.tasks, SHELVE.tasks[1:]),
    }
    assert moves == {(states.REBOOTING, states.REBOOTING_HARD), *steps}


def test_a_rescued_guest_makes_a_rescued_server_however_it_is_but_when_nobody_can_tell():
    for power_state in states.AS_FOUND:
        assert states.as_found(power_state, rescued=True) == states.RESCUED
    assert states.as_found(states.NOSTATE, rescued=True) is None


def test_a_state_out_of_the_table_leads_nowhere():
    assert not may_follow(State("confused"), State(states.ACTIVE))


def _under_tasks():
    return {state for state in TRANSITIONS if state.task in TASKS}


def _tasks_of(vm):
    """The tasks that may begin while no other task is under way, or one of a build."""
    before = [s for s in TRANSITIONS if s.vm == vm and s.task not in TASKS]
    return {after.task for state in before for after in TRANSITIONS[state]} & {*TASKS}


def _reach(start, goal):
    seen, front = set(), {start}
    while front:
        seen |= front
        front = set().union(*(TRANSITIONS[state] for state in front)) - seen
    return goal in seen
