"""The allowed transitions of an instance between its states.

An instance is in a vm state and may have a task state; the pair changes only along ``TRANSITIONS``.
``db/cell/instances.py`` refuses any other, the tests cover the table, and the diagram of the
documentation is generated from it. Those of operations follow from their kinds.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from roost import states
from roost.operations.kinds import KINDS, SOFT_DELETE
from roost.operations.steps import FOUND, LAST_REPORTED, UNCHANGED, Ending, Kind
from roost.states import (
    BUILDING,
    DELETED,
    DELETING,
    ERROR,
    RESCUED,
    RESIZED,
    SHELVED,
    SHELVED_OFFLOADED,
    SOFT_DELETED,
    STOPPED,
    WITH_GUEST,
    State,
)

Transitions = Mapping[State, frozenset[State]]
_OF_MOVES: Final = {task for kind in KINDS.values() if kind.is_move for task in kind.tasks}
# Every task may find the guest running, stopped, paused, suspended, rescued or missing (ERROR),
# since guests change by themselves, too.
_AS_FOUND: Final = (*map(State, WITH_GUEST), State(ERROR))
# States in which a server without a task follows its guest. One that runs although its server is
# stopped is stopped again; but a rescue may have been running when its host was given up.
_FOLLOWS: Final[Mapping[str, Iterable[State]]] = {
    **dict.fromkeys(WITH_GUEST, _AS_FOUND),
    STOPPED: (State(RESCUED), State(ERROR)),
    RESIZED: (),  # a revert brings back one whose guest is gone
    ERROR: tuple(map(State, WITH_GUEST)),  # its missing guest was found again
    **dict.fromkeys((SOFT_DELETED, SHELVED, SHELVED_OFFLOADED), ()),
}


def _resting(vm: str) -> frozenset[State]:
    """Return the transitions of a server without a task: by its guest, and into operations."""
    begun = (State(vm, kind.first) for kind in KINDS.values() if kind.tasks and vm in kind.begins)
    found = {*_FOLLOWS[vm]} - {State(vm)}
    return frozenset({*found, *begun, State(DELETED)})


def _under(kind: Kind, vm: str) -> frozenset[State]:
    """Return the transitions during an operation: to later steps, its end, or what preempts it."""
    after = {State(vm, DELETING), State(DELETED)}
    for ending in (kind.done, kind.lost if not kind.is_move else kind.failed):
        after |= _ends(ending, vm)
    if kind.repeated_until_done:
        return frozenset(after)
    if kind.is_move or kind.builds:  # its steps may be undone; a build may begin again
        return frozenset({*after, *(State(vm, task) for task in kind.tasks)})
    after |= {*_AS_FOUND, *(State(vm, task) for task in kind.tasks[1:])}
    if vm in SOFT_DELETE.begins:
        after.add(State(vm, SOFT_DELETE.first))
    if kind.preempted_by is not None:
        after.add(State(vm, KINDS[kind.preempted_by].first))
    return frozenset(after)


def _ends(ending: Ending, vm: str) -> set[State]:
    if ending.vm_state == UNCHANGED:
        return {State(vm)}
    return {*_AS_FOUND} if ending.vm_state in (FOUND, LAST_REPORTED) else {State(ending.vm_state)}


TRANSITIONS: Final[Transitions] = {
    **{State(vm): _resting(vm) for vm in _FOLLOWS},
    **{
        State(vm, task): _under(kind, vm)
        for kind in KINDS.values()
        for vm in kind.begins
        for task in kind.tasks
    },
    State(DELETED): frozenset(),
}
# Those of os-resetState: not for servers being built, deleted or soft-deleted, which the daemons
# complete, nor for those that move, or are on no host. The host compares the state with the guest.
RESETS: Final[Transitions] = {
    before: frozenset({State(states.ACTIVE), State(ERROR)})
    for before in TRANSITIONS
    if before.vm not in (BUILDING, SOFT_DELETED, SHELVED_OFFLOADED, DELETED)
    and before.task not in (SOFT_DELETE.first, DELETING, *_OF_MOVES)
}


def may_follow(before: State, after: State) -> bool:
    """Return whether an instance in ``before`` may change to ``after``."""
    return after in TRANSITIONS.get(before, frozenset())
