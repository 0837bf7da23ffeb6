"""States of an instance, and their allowed transitions.

An instance is in a *vm state* and may have a *task state*; the pair moves only along ``MOVES``.
``db/cell/instances.py`` refuses any other move, the tests cover the table, and the diagram of the
documentation is generated from it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

BUILDING: Final = "building"
ACTIVE: Final = "active"
STOPPED: Final = "stopped"
PAUSED: Final = "paused"
SUSPENDED: Final = "suspended"
RESCUED: Final = "rescued"
ERROR: Final = "error"
SOFT_DELETED: Final = "soft-delete"  # can be restored until it is reclaimed
DELETED: Final = "deleted"

SCHEDULING: Final = "scheduling"
NETWORKING: Final = "networking"
SPAWNING: Final = "spawning"
POWERING_OFF: Final = "powering-off"
POWERING_ON: Final = "powering-on"
REBOOTING: Final = "rebooting"
REBOOTING_HARD: Final = "rebooting_hard"
PAUSING: Final = "pausing"
UNPAUSING: Final = "unpausing"
SUSPENDING: Final = "suspending"
RESUMING: Final = "resuming"
REBUILDING: Final = "rebuilding"
REBUILD_BLOCK_DEVICE_MAPPING: Final = "rebuild_block_device_mapping"
REBUILD_SPAWNING: Final = "rebuild_spawning"
RESCUING: Final = "rescuing"
UNRESCUING: Final = "unrescuing"
IMAGE_BACKUP: Final = "image_backup"
IMAGE_SNAPSHOT_PENDING: Final = "image_snapshot_pending"
IMAGE_SNAPSHOT: Final = "image_snapshot"
IMAGE_PENDING_UPLOAD: Final = "image_pending_upload"
IMAGE_UPLOADING: Final = "image_uploading"
UPDATING_PASSWORD: Final = "updating_password"  # noqa: S105 - a state
SOFT_DELETING: Final = "soft-deleting"
RESTORING: Final = "restoring"
DELETING: Final = "deleting"

# Power states of a guest, as in Nova's API.
NOSTATE: Final = 0
RUNNING: Final = 1
HELD: Final = 3  # in memory, without CPU time
SHUTDOWN: Final = 4
SAVED: Final = 7  # its memory is on disk

BUILD_TASKS: Final = (SCHEDULING, NETWORKING, SPAWNING)
POWER_TASKS: Final = (
    *(POWERING_OFF, POWERING_ON, REBOOTING, REBOOTING_HARD),
    *(PAUSING, UNPAUSING, SUSPENDING, RESUMING),
)
# In their order; each may also be repeated.
REBUILD_TASKS: Final = (REBUILDING, REBUILD_BLOCK_DEVICE_MAPPING, REBUILD_SPAWNING)
# An image task begins with one of the first two.
IMAGE_TASKS: Final = (
    *(IMAGE_BACKUP, IMAGE_SNAPSHOT_PENDING),
    *(IMAGE_SNAPSHOT, IMAGE_PENDING_UPLOAD, IMAGE_UPLOADING),
)
RESCUE_TASKS: Final = (RESCUING, UNRESCUING)
# Tasks of an existing server, beyond power changes.
LIFE_TASKS: Final = (*REBUILD_TASKS, *IMAGE_TASKS, *RESCUE_TASKS, UPDATING_PASSWORD)
# Tasks for which the host calls the image store.
TASKS_WITH_IMAGES: Final = (*REBUILD_TASKS, *IMAGE_TASKS, RESCUING)
# Soft-delete and restore.
PUT_AWAY_TASKS: Final = (SOFT_DELETING, RESTORING)
# Power state -> vm state without a task. NOSTATE has none.
AS_FOUND: Final = {RUNNING: ACTIVE, SHUTDOWN: STOPPED, HELD: PAUSED, SAVED: SUSPENDED}
# Servers in these states have a guest on their host. The guest itself records that it is rescued.
WITH_GUEST: Final = (*AS_FOUND.values(), RESCUED)


class State(NamedTuple):
    """The vm state of an instance, and its task state (None: no task)."""

    vm: str
    task: str | None = None


Moves = Mapping[State, frozenset[State]]
WAITING: Final = State(BUILDING, SCHEDULING)
_BUILDS: Final = tuple(State(BUILDING, task) for task in BUILD_TASKS)
# Every task may find the guest running, stopped, paused, suspended, rescued or missing (ERROR),
# since guests change by themselves, too.
_AS_FOUND: Final = (*map(State, WITH_GUEST), State(ERROR))


def _under(task: str, vm: str, *others: State) -> dict[State, frozenset[State]]:
    """Return the row of a task: it ends in the state of the guest, or a delete preempts it."""
    ends = {*_AS_FOUND, State(vm, DELETING), State(DELETED), *_soft_deleting(vm), *others}
    return {State(vm, task): frozenset(ends)}


def _soft_deleting(vm: str) -> set[State]:
    """Return the moves to soft-delete, which preempt any task; none for a server in ERROR."""
    return set() if vm == ERROR else {State(vm, SOFT_DELETING)}


def _resting(vm: str, *tasks: str) -> dict[State, frozenset[State]]:
    """Return the row of a server without a task: state changes of its guest, and tasks to start."""
    found = {*_AS_FOUND} - {State(vm)}
    begun = {State(vm, task) for task in (*tasks, SOFT_DELETING, DELETING)}
    return {State(vm): frozenset({*found, *begun, State(DELETED)})}


def _in_steps(
    begun: Sequence[str], steps: Sequence[str], *vms: str
) -> dict[State, frozenset[State]]:
    """Return the rows of a task in steps: an interrupted task repeats them from the first."""
    rows: dict[State, frozenset[State]] = {}
    for vm in vms:
        following = [State(vm, step) for step in steps]
        for task in (*begun, *steps):
            rows |= _under(task, vm, *following)
    return rows


_IMAGES: Final = (IMAGE_SNAPSHOT_PENDING, IMAGE_BACKUP)
MOVES: Final[Moves] = {
    # sent to a host, which starts with its networks or (none requested) with the guest
    State(BUILDING, SCHEDULING): frozenset(
        {*_BUILDS, State(ERROR), State(BUILDING, DELETING), State(DELETED)}
    ),
    # a failed attempt goes back to SCHEDULING
    State(BUILDING, NETWORKING): frozenset(
        {*_BUILDS, State(ERROR), State(BUILDING, DELETING), State(DELETED)}
    ),
    State(BUILDING, SPAWNING): frozenset(
        {
            State(BUILDING, SPAWNING),
            State(BUILDING, SCHEDULING),
            State(ACTIVE),
            State(ERROR),
            State(BUILDING, DELETING),
            State(DELETED),
        }
    ),
    **_resting(
        ACTIVE,
        *(POWERING_OFF, REBOOTING, REBOOTING_HARD, PAUSING, SUSPENDING),
        *(REBUILDING, RESCUING, UPDATING_PASSWORD, *_IMAGES),
    ),
    **_resting(PAUSED, UNPAUSING, REBOOTING_HARD, *_IMAGES),
    **_resting(SUSPENDED, RESUMING, REBOOTING_HARD, *_IMAGES),
    **_resting(RESCUED, UNRESCUING),
    # a guest that runs although its server is stopped is stopped again
    State(STOPPED): frozenset(
        {
            State(STOPPED, POWERING_ON),
            State(STOPPED, REBOOTING_HARD),
            State(STOPPED, REBUILDING),
            State(STOPPED, RESCUING),
            *(State(STOPPED, task) for task in _IMAGES),
            State(RESCUED),  # the rescue was running when its host was given up
            State(STOPPED, SOFT_DELETING),
            State(STOPPED, DELETING),
            State(ERROR),
            State(DELETED),
        }
    ),
    State(ERROR): frozenset(
        {
            State(ERROR, POWERING_OFF),
            State(ERROR, REBOOTING_HARD),
            State(ERROR, REBUILDING),
            State(ERROR, RESCUING),
            State(ERROR, DELETING),
            *map(State, WITH_GUEST),  # its missing guest was found again
            State(DELETED),
        }
    ),
    **_under(POWERING_OFF, ACTIVE),
    # a user who cannot wait for the guest's shutdown may force the reboot
    **_under(REBOOTING, ACTIVE, State(ACTIVE, REBOOTING_HARD)),
    **_under(REBOOTING_HARD, ACTIVE),
    **_under(PAUSING, ACTIVE),
    **_under(SUSPENDING, ACTIVE),
    **_under(UNPAUSING, PAUSED),
    **_under(REBOOTING_HARD, PAUSED),
    **_under(RESUMING, SUSPENDED),
    **_under(REBOOTING_HARD, SUSPENDED),
    **_under(POWERING_ON, STOPPED),
    **_under(REBOOTING_HARD, STOPPED),
    **_under(POWERING_OFF, ERROR),
    **_under(REBOOTING_HARD, ERROR),
    **_in_steps(REBUILD_TASKS[:1], REBUILD_TASKS[1:], ACTIVE, STOPPED, ERROR),
    **_in_steps(IMAGE_TASKS[:2], IMAGE_TASKS[2:], ACTIVE, STOPPED, PAUSED, SUSPENDED),
    **_under(RESCUING, ACTIVE),
    **_under(RESCUING, STOPPED),
    **_under(RESCUING, ERROR),
    **_under(UNRESCUING, RESCUED),
    **_under(UPDATING_PASSWORD, ACTIVE),
    # a soft-delete continues until it is done: only a delete preempts it. And a server may be
    # soft-deleted again before its cell has received the restore
    **{
        State(vm, SOFT_DELETING): frozenset(
            {State(SOFT_DELETED), State(vm, DELETING), State(DELETED)}
        )
        for vm in (*WITH_GUEST, SOFT_DELETED)
    },
    State(SOFT_DELETED): frozenset(
        {
            *(State(SOFT_DELETED, task) for task in (*PUT_AWAY_TASKS, DELETING)),
            State(DELETED),
        }
    ),
    **_under(RESTORING, SOFT_DELETED),
    # a delete may be requested again, and always ends in DELETED
    State(BUILDING, DELETING): frozenset({State(BUILDING, DELETING), State(DELETED)}),
    **{
        State(vm, DELETING): frozenset({State(vm, DELETING), State(DELETED)})
        for vm in (*WITH_GUEST, ERROR, SOFT_DELETED)
    },
    State(DELETED): frozenset(),
}
# Moves of os-resetState: not for servers being built, deleted or soft-deleted, which the daemons
# complete. The host compares the state with the guest periodically.
RESETS: Final[Moves] = {
    before: frozenset({State(ACTIVE), State(ERROR)})
    for before in MOVES
    if before.vm not in (BUILDING, SOFT_DELETED, DELETED)
    and before.task not in (SOFT_DELETING, DELETING)
}


def as_found(power_state: int, *, rescued: bool) -> str | None:
    """Return the vm state for a power state of the guest; None: unknown."""
    found = AS_FOUND.get(power_state)
    return RESCUED if rescued and found is not None else found


def may_follow(before: State, after: State) -> bool:
    """Return whether an instance in ``before`` may be moved to ``after``."""
    return after in MOVES.get(before, frozenset())
