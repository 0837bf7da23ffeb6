"""The kinds of operations on an existing server: one row each, and all that depends on the kind.

A new kind needs its row here, a function on the host (``compute/operations/runner.py``) and an
action of the API (``api/servers/actions.py``); CONTRIBUTING.rst lists the files. Builds and deletes
are not among them yet: they have flows and sweeps of their own.

An operation on one host is one piece of work. One on two hosts, a move, has steps: each is the work
of one host, which reports its end to a cell-conductor; that one writes the next step into the row,
and sends it to its host (``conductor/cell/server_moves.py``).
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

from roost import exception, states
from roost.states import (
    ACTIVE,
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
SOURCE: Final = "source"  # the sides of a migration
DESTINATION: Final = "destination"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoveStep:
    """A step of a move. It may be repeated.

    ``name``: of its function on the host. ``at``: the host of the migration that does it. ``task``:
    the task state meanwhile. ``undo``: the step that undoes it, even if it is half done; None:
    it is repeated until it is done, or its host is fenced. ``when_down``: the move goes on without
    it even while its host is only down: no guest runs there. A host that was left out removes what
    it has of the server when it is up again. ``copies``: it copies disks, and may take hours.
    ``event``: the name of its notifications; steps that follow each other may share one.
    ``reads_instance``: the host needs the whole instance, not the migration alone.
    """

    name: str
    at: str
    task: str
    undo: "MoveStep | None" = None
    when_down: bool = False
    copies: bool = False
    event: str | None = None
    reads_instance: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """A kind of operation. An interrupted operation is done again from its beginning.

    ``name``: in messages. ``action``: in the history of the server. ``tasks``: the task state that
    it begins with, and those of its later steps. ``begins``: vm states in which it may begin.
    ``statuses``: the status that clients see meanwhile, by vm state; else that of the vm state.

    ``leads_to``: the vm state that only this operation leads to. A guest that is found in it by
    itself gets this action in its history. ``insists``: it is repeated until it is done, and only
    a delete preempts it. ``gives_way``: a user who cannot wait may begin this other kind meanwhile.

    ``reads_instance``: the host needs the whole instance. ``uses_images``: it reads or writes the
    image store with the token of the user, which its message carries. ``once``: it is not sent
    again, as only its message has all that it needs, or because doing it twice does harm: why it
    ended when its host does not go on with it.

    ``since``: the version of the RPC interface of hosts (:mod:`roost.rpc.compute`) that knows it.
    ``tries``: how often it is sent to a host again that does not go on with it.

    ``spoils``: a failure leaves no usable guest. ``without_host``: the vm state after its host went
    down meanwhile, or did not do it; None: the same as before.

    ``event``: the name of its notifications, as in ``instance.power_off.start``; None: its steps
    have them, or nobody has a name for them.

    ``steps``: those of a move, in order. If one fails that can be undone, those before it are
    undone, too, the last one first. ``ends_at``: the side that has the server when all are done.
    """

    name: str
    action: str
    tasks: tuple[str, ...]
    begins: tuple[str, ...]
    event: str | None
    statuses: Mapping[str, str] = dataclasses.field(default_factory=lambda: _NO_STATUS)
    leads_to: str | None = None
    insists: bool = False
    gives_way: str | None = None
    reads_instance: bool = False
    uses_images: bool = False
    once: str | None = None
    since: str = "1.0"
    tries: int = 10
    spoils: bool = False
    without_host: str | None = None
    steps: tuple[MoveStep, ...] = ()
    ends_at: str = DESTINATION

    @property
    def first(self) -> str:
        """The task state with which it begins."""
        return self.tasks[0]

    def step(self, name: str) -> MoveStep:
        """Return the step of a name, or the one that undoes another."""
        undos = [step.undo for step in self.steps if step.undo is not None]
        return next(step for step in (*self.steps, *undos) if step.name == name)

    def needs(self, side: str, *, fenced: bool) -> bool:
        """Return whether a move must not begin while the host on one side is down.

        :param fenced: whether an operator has forced that host down, so that no guest runs there
        """
        steps = [step for step in self.steps if step.at == side]
        skips = all(step.when_down or (fenced and step.undo is None) for step in steps)
        return side == self.ends_at or not skips

    def is_undo(self, name: str) -> bool:
        """Return whether a step undoes another one."""
        return all(step.name != name for step in self.steps)

    def following(self, name: str) -> MoveStep | None:
        """Return the step after one that is done; None: it was the last, or all are undone."""
        if self.is_undo(name):
            return self._undo_below(self._index(name))
        later = self.steps[self._index(name) + 1 :]
        return later[0] if later else None

    def undoing(self, name: str) -> MoveStep | None:
        """Return the step after one that failed; None: it is repeated."""
        return None if self.is_undo(name) else self._undo_below(self._index(name) + 1)

    def event_of(self, step: str | None, *, ends: bool = False) -> str | None:
        """Return the event that begins, or ends, with a step, or with an operation without steps.

        Steps that share an event begin it with the first of them, and end it with the last. The way
        back begins with the error of the step that failed, and has an event at its end only.
        """
        if step is None:
            return self.event
        if self.is_undo(step):
            return self.step(step).event if ends else None
        at = self._index(step)
        event = self.steps[at].event
        beside = self.steps[at + 1 : at + 2] if ends else self.steps[:at][-1:]
        return None if any(other.event == event for other in beside) else event

    def _index(self, name: str) -> int:
        return next(
            at
            for at, step in enumerate(self.steps)
            if name in (step.name, step.undo.name if step.undo else None)
        )

    def _undo_below(self, index: int) -> MoveStep | None:
        undos = [step.undo for step in self.steps[:index] if step.undo is not None]
        return undos[-1] if undos else None

    def __str__(self) -> str:
        return self.name


STOP: Final = Kind(
    name="stop",
    action="stop",
    tasks=(states.POWERING_OFF,),
    begins=(ACTIVE, ERROR),
    event="power_off",
    leads_to=STOPPED,
)
START: Final = Kind(
    name="start",
    action="start",
    tasks=(states.POWERING_ON,),
    begins=(STOPPED,),
    event="power_on",
)
REBOOT: Final = Kind(
    name="reboot",
    action="reboot",
    tasks=(states.REBOOTING,),
    begins=(ACTIVE,),
    event="reboot",
    statuses={ACTIVE: "REBOOT"},
    gives_way="hard_reboot",
)
HARD_REBOOT: Final = Kind(
    name="hard_reboot",
    action="reboot",
    tasks=(states.REBOOTING_HARD,),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED, ERROR),
    event="reboot",
    statuses={ACTIVE: "HARD_REBOOT"},
)
PAUSE: Final = Kind(
    name="pause",
    action="pause",
    tasks=(states.PAUSING,),
    begins=(ACTIVE,),
    event="pause",
    leads_to=PAUSED,
)
UNPAUSE: Final = Kind(
    name="unpause",
    action="unpause",
    tasks=(states.UNPAUSING,),
    begins=(PAUSED,),
    event="unpause",
)
SUSPEND: Final = Kind(
    name="suspend",
    action="suspend",
    tasks=(states.SUSPENDING,),
    begins=(ACTIVE,),
    event="suspend",
    leads_to=SUSPENDED,
)
RESUME: Final = Kind(
    name="resume",
    action="resume",
    tasks=(states.RESUMING,),
    begins=(SUSPENDED,),
    event="resume",
)
REBUILD: Final = Kind(
    name="rebuild",
    action="rebuild",
    tasks=(states.REBUILDING, states.REBUILD_BLOCK_DEVICE_MAPPING, states.REBUILD_SPAWNING),
    begins=(ACTIVE, STOPPED, ERROR),
    event="rebuild",
    statuses=dict.fromkeys((ACTIVE, STOPPED, ERROR), "REBUILD"),
    reads_instance=True,
    uses_images=True,
    spoils=True,
    without_host=ERROR,
)
_IMAGE_STEPS: Final = (
    states.IMAGE_SNAPSHOT,
    states.IMAGE_PENDING_UPLOAD,
    states.IMAGE_UPLOADING,
)
CREATE_IMAGE: Final = Kind(
    name="create_image",
    action="createImage",
    tasks=(states.IMAGE_SNAPSHOT_PENDING, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    reads_instance=True,
    uses_images=True,
)
CREATE_BACKUP: Final = Kind(
    name="create_backup",
    action="createBackup",
    tasks=(states.IMAGE_BACKUP, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    reads_instance=True,
    uses_images=True,
)
RESCUE: Final = Kind(
    name="rescue",
    action="rescue",
    tasks=(states.RESCUING,),
    begins=(ACTIVE, STOPPED, ERROR),
    event="rescue",
    leads_to=RESCUED,
    reads_instance=True,
    uses_images=True,
)
UNRESCUE: Final = Kind(
    name="unrescue",
    action="unrescue",
    tasks=(states.UNRESCUING,),
    begins=(RESCUED,),
    event="unrescue",
)
CHANGE_PASSWORD: Final = Kind(
    name="change_password",
    action="changePassword",
    tasks=(states.UPDATING_PASSWORD,),
    begins=(ACTIVE,),
    event=None,
    statuses={ACTIVE: "PASSWORD"},
    once="The password did not reach the server: set it again.",
)
TRIGGER_CRASH_DUMP: Final = Kind(
    name="trigger_crash_dump",
    action="trigger_crash_dump",
    tasks=(states.TRIGGERING_CRASH_DUMP,),
    begins=(ACTIVE, PAUSED, RESCUED, ERROR),
    event="trigger_crash_dump",
    once="The host of the server has not said whether it was done: look, and ask for it again.",
    since="1.4",
)
SOFT_DELETE: Final = Kind(
    name="soft_delete",
    action="delete",
    tasks=(states.SOFT_DELETING,),
    begins=(*WITH_GUEST, SOFT_DELETED),
    event="soft_delete",
    leads_to=SOFT_DELETED,
    insists=True,
    without_host=SOFT_DELETED,
)
PREPARE: Final = MoveStep(
    name="prepare",
    at=DESTINATION,
    task=states.RESIZE_PREP,
    undo=MoveStep(
        name="discard",
        at=DESTINATION,
        task=states.RESIZE_PREP,
        when_down=True,
        event="resize_revert",
    ),
    event="resize_prep",
)
_SEND: Final = MoveStep(
    name="send",
    at=SOURCE,
    task=states.RESIZE_MIGRATING,
    reads_instance=False,
    undo=MoveStep(name="stay", at=SOURCE, task=states.RESIZE_MIGRATING),
    event="resize",
)
_ARRIVE: Final = MoveStep(
    name="arrive",
    at=DESTINATION,
    task=states.RESIZE_FINISH,
    copies=True,
    undo=MoveStep(name="withdraw", at=DESTINATION, task=states.RESIZE_FINISH),
    event="resize_finish",
)
MIGRATE: Final = Kind(
    name="migrate",
    action="migrate",
    tasks=(states.RESIZE_PREP, states.RESIZE_MIGRATING, states.RESIZE_FINISH),
    begins=(ACTIVE, STOPPED),
    event=None,
    statuses={ACTIVE: "RESIZE", STOPPED: "RESIZE"},
    leads_to=RESIZED,
    since="1.5",
    steps=(PREPARE, _SEND, _ARRIVE),
)
RESIZE: Final = dataclasses.replace(MIGRATE, name="resize", action="resize")
CONFIRM_RESIZE: Final = Kind(
    name="confirm_resize",
    action="confirmResize",
    tasks=(states.RESIZE_CONFIRMING,),
    begins=(RESIZED,),
    event=None,
    since="1.5",
    steps=(
        MoveStep(
            name="leave",
            at=SOURCE,
            task=states.RESIZE_CONFIRMING,
            when_down=True,
            event="resize_confirm",
            reads_instance=False,
        ),
    ),
)
REVERT_RESIZE: Final = Kind(
    name="revert_resize",
    action="revertResize",
    tasks=(states.RESIZE_REVERTING,),
    begins=(RESIZED,),
    event=None,
    statuses={RESIZED: "REVERT_RESIZE"},
    since="1.5",
    steps=(
        MoveStep(
            name="withdraw", at=DESTINATION, task=states.RESIZE_REVERTING, event="resize_revert"
        ),
        MoveStep(name="stay", at=SOURCE, task=states.RESIZE_REVERTING, event="resize_revert"),
    ),
    ends_at=SOURCE,
)
# The state of a guest whose host is down is unknown: its row follows it later.
RESTORE: Final = Kind(
    name="restore",
    action="restore",
    tasks=(states.RESTORING,),
    begins=(SOFT_DELETED,),
    event="restore",
    without_host=ACTIVE,
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        *(STOP, START, REBOOT, HARD_REBOOT, PAUSE, UNPAUSE, SUSPEND, RESUME),
        *(REBUILD, CREATE_IMAGE, CREATE_BACKUP, RESCUE, UNRESCUE, CHANGE_PASSWORD),
        *(TRIGGER_CRASH_DUMP, MIGRATE, RESIZE, CONFIRM_RESIZE, REVERT_RESIZE),
        *(SOFT_DELETE, RESTORE),
    )
}
DESTROYING: Final = ("leave", "withdraw")  # steps that end a guest which the server has run on
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
