"""The kinds of operations on an existing server: one row each, and all that depends on the kind.

A new kind needs its row here, a function on the host for each step, with its row in ``WORK``
(``power.py`` and others in ``compute/operations/``), and an action of the API
(``api/servers/actions.py``); CONTRIBUTING.rst lists the files. Builds are not among
them yet: they have a flow and a sweep of their own.

Each step of an operation is the work of one host, which reports its end to a cell-conductor. What
follows then is in ``advance.py``. An operation on the host of the server has one step.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from roost import exception, states
from roost.objects.migration import CONFIRMED, FAILED, FINISHED, REVERTED
from roost.operations.steps import (
    AS_BEFORE,
    AS_FOUND,
    BEFORE_THE_MOVE,
    DESTINATION,
    IN_ERROR,
    LAST_REPORTED,
    SOURCE,
    UNCHANGED,
    Ending,
    OperationStep,
)
from roost.states import (
    ACTIVE,
    BUILDING,
    DELETED,
    ERROR,
    PAUSED,
    RESCUED,
    RESIZED,
    SOFT_DELETED,
    STOPPED,
    SUSPENDED,
    WITH_GUEST,
)

_NO_STATUS: Final[Mapping[str, str]] = {}
# What operations of a server lock. What locks the server excludes all others; the rest share it,
# each with its own lock. Of devices, each has one.
SERVER: Final = "server"
DISK: Final = "disk"
DEVICE: Final = "device"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """A kind of operation. An interrupted step is done again from its beginning.

    ``name``: in messages. ``action``: in the history of the server. ``tasks``: the task state that
    it begins with, and those that it may have later; none: the server stays in the states that it
    is in. ``begins``: vm states in which it may begin.
    ``statuses``: the status that clients see meanwhile, by vm state; else that of the vm state.

    ``leads_to``: the vm state that only this operation leads to. A guest that is found in it by
    itself gets this action in its history. ``repeated_until_done``: only a delete preempts it.
    ``preempted_by``: a user who cannot wait may begin this other kind meanwhile.

    ``lock``: what it locks: the server, or a part of it, which others may share meanwhile.

    ``uses_images``: it reads or writes the image store with the token of the user, which its
    message carries. ``why_not_resent``: it is not sent again, as only its message has all that it
    needs, or because doing it twice does harm: why it ended when its host does not go on with it.

    ``since``: the version of the RPC interface of hosts (:mod:`roost.rpc.compute`) that knows it.
    ``tries``: how often a step is sent to a host again that does not go on with it.

    ``steps``: in order. If one fails that can be undone, those before it are undone, too, the last
    one first. ``begins_at``: the side that has the server when a move begins.

    ``done``, ``failed``, ``lost``: how it ends. A failed move has come back; an operation is lost
    if the host of the server did not do it, or went down meanwhile.
    """

    name: str
    action: str
    tasks: tuple[str, ...]
    begins: tuple[str, ...]
    steps: tuple[OperationStep, ...]
    lock: str = SERVER
    statuses: Mapping[str, str] = dataclasses.field(default_factory=lambda: _NO_STATUS)
    leads_to: str | None = None
    repeated_until_done: bool = False
    preempted_by: str | None = None
    uses_images: bool = False
    why_not_resent: str | None = None
    since: str = "1.0"
    tries: int = 10
    begins_at: str = SOURCE
    done: Ending = AS_FOUND
    failed: Ending = AS_FOUND
    lost: Ending = AS_BEFORE

    @property
    def first(self) -> str:
        """The task state with which it begins."""
        return self.tasks[0]

    @property
    def is_move(self) -> bool:
        """Whether it has two sides, a source and a destination: then it has a migration."""
        return self.done.migration is not None

    @property
    def deletes(self) -> bool:
        """Whether the server is deleted at the end."""
        return self.done.vm_state == DELETED

    def step(self, name: str) -> OperationStep:
        """Return the step of a name, or the one that undoes another, or asks for its outcome.

        :raises roost.exception.Invalid: when there is none
        """
        for step in self.steps:
            for one in (step, step.undo, step.ask):
                if one is not None and one.name == name:
                    return one
        raise exception.Invalid(f"{self} has no step called {name}")

    def needs(self, side: str, *, fenced: bool) -> bool:
        """Return whether a move must not begin while the host on one side is down.

        :param fenced: whether an operator has forced that host down, so that no guest runs there
        """
        steps = [step for step in self.steps if step.at == side]
        skips = all(step.when_down or (fenced and step.undo is None) for step in steps)
        return side == self.done.side or not skips

    def event_of(self, name: str, *, ends: bool = False) -> str | None:
        """Return the event that begins, or ends, with a step.

        Steps that share an event begin it with the first of them, and end it with the last. The way
        back begins with the error of the step that failed, and has an event at its end only.
        """
        names = [step.name for step in self.steps]
        if name not in names:
            return self.step(name).event if ends else None
        at = names.index(name)
        event = self.steps[at].event
        beside = self.steps[at + 1 : at + 2] if ends else self.steps[:at][-1:]
        return None if any(other.event == event for other in beside) else event

    def __str__(self) -> str:
        return self.name


def _alone(
    name: str,
    *,
    tasks: tuple[str, ...],
    begins: tuple[str, ...],
    event: str | None,
    action: str | None = None,
    reads_instance: bool = False,
    spoils_guest: bool = False,
    **more: Any,
) -> Kind:
    """Return a kind whose only step is the work of the server's host, and has its name."""
    step = OperationStep(
        name=name,
        task=tasks[0] if tasks else None,
        event=event,
        reads_instance=reads_instance,
        spoils_guest=spoils_guest,
        creates_guest=spoils_guest,
    )
    return Kind(name=name, action=action or name, tasks=tasks, begins=begins, steps=(step,), **more)


STOP: Final = _alone(
    "stop",
    tasks=(states.POWERING_OFF,),
    begins=(ACTIVE, ERROR),
    event="power_off",
    leads_to=STOPPED,
)
START: Final = _alone(
    "start",
    tasks=(states.POWERING_ON,),
    begins=(STOPPED,),
    event="power_on",
)
REBOOT: Final = _alone(
    "reboot",
    tasks=(states.REBOOTING,),
    begins=(ACTIVE,),
    event="reboot",
    statuses={ACTIVE: "REBOOT"},
    preempted_by="hard_reboot",
)
HARD_REBOOT: Final = _alone(
    "hard_reboot",
    action="reboot",
    tasks=(states.REBOOTING_HARD,),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED, ERROR),
    event="reboot",
    statuses={ACTIVE: "HARD_REBOOT"},
)
PAUSE: Final = _alone(
    "pause",
    tasks=(states.PAUSING,),
    begins=(ACTIVE,),
    event="pause",
    leads_to=PAUSED,
)
UNPAUSE: Final = _alone(
    "unpause",
    tasks=(states.UNPAUSING,),
    begins=(PAUSED,),
    event="unpause",
)
SUSPEND: Final = _alone(
    "suspend",
    tasks=(states.SUSPENDING,),
    begins=(ACTIVE,),
    event="suspend",
    leads_to=SUSPENDED,
)
RESUME: Final = _alone(
    "resume",
    tasks=(states.RESUMING,),
    begins=(SUSPENDED,),
    event="resume",
)
REBUILD: Final = _alone(
    "rebuild",
    tasks=(states.REBUILDING, states.REBUILD_BLOCK_DEVICE_MAPPING, states.REBUILD_SPAWNING),
    begins=(ACTIVE, STOPPED, ERROR),
    event="rebuild",
    statuses=dict.fromkeys((ACTIVE, STOPPED, ERROR), "REBUILD"),
    reads_instance=True,
    uses_images=True,
    spoils_guest=True,
    lost=IN_ERROR,
)
_IMAGE_STEPS: Final = (
    states.IMAGE_SNAPSHOT,
    states.IMAGE_PENDING_UPLOAD,
    states.IMAGE_UPLOADING,
)
CREATE_IMAGE: Final = _alone(
    "create_image",
    action="createImage",
    tasks=(states.IMAGE_SNAPSHOT_PENDING, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    lock=DISK,
    reads_instance=True,
    uses_images=True,
)
CREATE_BACKUP: Final = _alone(
    "create_backup",
    action="createBackup",
    tasks=(states.IMAGE_BACKUP, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    lock=DISK,
    reads_instance=True,
    uses_images=True,
)
RESCUE: Final = _alone(
    "rescue",
    tasks=(states.RESCUING,),
    begins=(ACTIVE, STOPPED, ERROR),
    event="rescue",
    leads_to=RESCUED,
    reads_instance=True,
    uses_images=True,
)
UNRESCUE: Final = _alone(
    "unrescue",
    tasks=(states.UNRESCUING,),
    begins=(RESCUED,),
    event="unrescue",
)
CHANGE_PASSWORD: Final = _alone(
    "change_password",
    action="changePassword",
    tasks=(states.UPDATING_PASSWORD,),
    begins=(ACTIVE,),
    event=None,
    statuses={ACTIVE: "PASSWORD"},
    why_not_resent="The password did not reach the server: set it again.",
)
TRIGGER_CRASH_DUMP: Final = _alone(
    "trigger_crash_dump",
    tasks=(states.TRIGGERING_CRASH_DUMP,),
    begins=(ACTIVE, PAUSED, RESCUED, ERROR),
    event="trigger_crash_dump",
    why_not_resent="The host of the server has not said whether it was done: look, and ask for it"
    " again.",
    since="1.4",
)
# Its guest has ended with its server; what is left of it is removed until nothing is.
DELETE: Final = _alone(
    "delete",
    tasks=(states.DELETING,),
    begins=(BUILDING, *WITH_GUEST, RESIZED, ERROR, SOFT_DELETED),
    event="delete",
    repeated_until_done=True,
    since="1.6",
    done=Ending(vm_state=DELETED),
    lost=Ending(vm_state=DELETED),
)
SOFT_DELETE: Final = _alone(
    "soft_delete",
    action="delete",
    tasks=(states.SOFT_DELETING,),
    begins=(*WITH_GUEST, SOFT_DELETED),
    event="soft_delete",
    leads_to=SOFT_DELETED,
    repeated_until_done=True,
    done=Ending(vm_state=SOFT_DELETED),
    lost=Ending(vm_state=SOFT_DELETED),
)
ATTACH_INTERFACE: Final = _alone(
    "attach_interface",
    tasks=(),
    begins=(ACTIVE, PAUSED, STOPPED),
    event="interface_attach",
    lock=DEVICE,
    reads_instance=True,
    since="1.6",
    done=AS_BEFORE,
    failed=AS_BEFORE,
)
DETACH_INTERFACE: Final = _alone(
    "detach_interface",
    tasks=(),
    begins=(ACTIVE, PAUSED, STOPPED),
    event="interface_detach",
    lock=DEVICE,
    reads_instance=True,
    since="1.6",
    done=AS_BEFORE,
    failed=AS_BEFORE,
)
PREPARE: Final = OperationStep(
    name="prepare",
    at=DESTINATION,
    task=states.RESIZE_PREP,
    undo=OperationStep(
        name="discard",
        at=DESTINATION,
        task=states.RESIZE_PREP,
        when_down=True,
        event="resize_revert",
    ),
    event="resize_prep",
)
_SEND: Final = OperationStep(
    name="send",
    at=SOURCE,
    task=states.RESIZE_MIGRATING,
    reads_instance=False,
    undo=OperationStep(name="stay", at=SOURCE, task=states.RESIZE_MIGRATING),
    event="resize",
)
_ARRIVE: Final = OperationStep(
    name="arrive",
    at=DESTINATION,
    task=states.RESIZE_FINISH,
    copies=True,
    creates_guest=True,
    undo=OperationStep(
        name="withdraw", at=DESTINATION, task=states.RESIZE_FINISH, destroys_guest=True
    ),
    event="resize_finish",
)
MIGRATE: Final = Kind(
    name="migrate",
    action="migrate",
    tasks=(states.RESIZE_PREP, states.RESIZE_MIGRATING, states.RESIZE_FINISH),
    begins=(ACTIVE, STOPPED),
    statuses={ACTIVE: "RESIZE", STOPPED: "RESIZE"},
    leads_to=RESIZED,
    since="1.5",
    steps=(PREPARE, _SEND, _ARRIVE),
    done=Ending(
        vm_state=RESIZED, side=DESTINATION, claims=(SOURCE, DESTINATION), migration=FINISHED
    ),
    failed=Ending(vm_state=UNCHANGED, claims=(SOURCE,), migration=FAILED),
)
RESIZE: Final = dataclasses.replace(MIGRATE, name="resize", action="resize")
CONFIRM_RESIZE: Final = Kind(
    name="confirm_resize",
    action="confirmResize",
    tasks=(states.RESIZE_CONFIRMING,),
    begins=(RESIZED,),
    begins_at=DESTINATION,
    since="1.5",
    steps=(
        OperationStep(
            name="leave",
            at=SOURCE,
            task=states.RESIZE_CONFIRMING,
            when_down=True,
            event="resize_confirm",
            reads_instance=False,
            destroys_guest=True,
        ),
    ),
    done=Ending(
        vm_state=LAST_REPORTED, side=DESTINATION, claims=(DESTINATION,), migration=CONFIRMED
    ),
)
REVERT_RESIZE: Final = Kind(
    name="revert_resize",
    action="revertResize",
    tasks=(states.RESIZE_REVERTING,),
    begins=(RESIZED,),
    begins_at=DESTINATION,
    statuses={RESIZED: "REVERT_RESIZE"},
    since="1.5",
    steps=(
        OperationStep(
            name="withdraw",
            at=DESTINATION,
            task=states.RESIZE_REVERTING,
            event="resize_revert",
            destroys_guest=True,
        ),
        OperationStep(name="stay", at=SOURCE, task=states.RESIZE_REVERTING, event="resize_revert"),
    ),
    done=Ending(otherwise=BEFORE_THE_MOVE, side=SOURCE, claims=(SOURCE,), migration=REVERTED),
)
# The state of a guest whose host is down is unknown: its row follows it later.
RESTORE: Final = _alone(
    "restore",
    tasks=(states.RESTORING,),
    begins=(SOFT_DELETED,),
    event="restore",
    done=Ending(otherwise=ACTIVE, needs_guest=True),
    failed=Ending(otherwise=ACTIVE, needs_guest=True),
    lost=Ending(vm_state=ACTIVE),
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        *(STOP, START, REBOOT, HARD_REBOOT, PAUSE, UNPAUSE, SUSPEND, RESUME),
        *(REBUILD, CREATE_IMAGE, CREATE_BACKUP, RESCUE, UNRESCUE, CHANGE_PASSWORD),
        *(TRIGGER_CRASH_DUMP, MIGRATE, RESIZE, CONFIRM_RESIZE, REVERT_RESIZE),
        *(DELETE, SOFT_DELETE, RESTORE, ATTACH_INTERFACE, DETACH_INTERFACE),
    )
}
# Task states of what shares the server: others may begin meanwhile that share it, too.
SHARED: Final = tuple(task for kind in KINDS.values() if kind.lock != SERVER for task in kind.tasks)
# Steps that end a guest which the server has run on.
DESTROYING: Final = sorted(
    {
        step.name
        for kind in KINDS.values()
        for step in (*kind.steps, *(step.undo for step in kind.steps))
        if step is not None and step.destroys_guest
    }
)
# The later steps of an image are those of a backup, too: whichever kind does them again.
OF_TASK: Final[Mapping[str, Kind]] = {
    task: kind for kind in [*KINDS.values()][::-1] for task in kind.tasks
}
# The history of a server whose guest is found in this vm state by itself gets this action.
BY_ITSELF: Final[Mapping[str, str]] = {
    kind.leads_to: kind.action for kind in KINDS.values() if kind.leads_to is not None
}


def get(name: str) -> Kind:
    """Return the kind of a name.

    :raises roost.exception.Invalid: when there is none
    """
    kind = KINDS.get(name)
    if kind is None:
        raise exception.Invalid(f"no kind of operation is called {name}")
    return kind
