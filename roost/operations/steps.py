"""What a kind of operations is: its steps, what it locks, and how it leaves the server."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from roost import exception, states
from roost.states import DELETED

# What the host of a live migration may be asked meanwhile: to abort it, or to make it end soon.
ABORT: Final = "abort"
FORCE_COMPLETE: Final = "force_complete"
# What it says, in place of its progress, when it has begun to do so.
OBEYED: Final = "obeyed"

# Who does a step: the host of the server, that of one side of its migration, or any conductor.
HOST: Final = "host"
SOURCE: Final = "source"
DESTINATION: Final = "destination"
CONDUCTOR: Final = "conductor"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OperationStep:
    """A step of an operation, which is the work of one host, or of a conductor. It may be repeated.

    ``name``: of its function on the host. ``at``: who does it. ``task``: the task state meanwhile;
    None: the server stays in the states that it is in. ``undo``: the step that undoes it, even if
    it is half done; None: it is repeated until it is done, or its host is fenced. ``ask``: the step
    that finds out where the guest is, if this one may have changed that before its host died; until
    then nothing is undone or repeated. It asks the source, and has an ``ask`` itself, which asks
    the destination. Once the guest has arrived there is no way back. ``elsewhere``: the step that
    finds another host if this one fails.

    ``when_down``: the operation goes on without it even while its host is only down: no guest runs
    there. A host that was left out removes what it has of the server when it is up again.
    ``copies``: it copies disks, and may take hours. ``creates_guest``, ``destroys_guest``: on its
    host. ``spoils_guest``: its failure leaves no usable guest. ``event``: the name of its
    notifications; steps that follow each other may share one. ``reads_instance``: the host needs
    the whole instance, not the migration alone. ``migration``: the status of the migration
    meanwhile; None: as before.
    """

    name: str
    at: str = HOST
    task: str | None
    undo: "OperationStep | None" = None
    ask: "OperationStep | None" = None
    elsewhere: "OperationStep | None" = None
    when_down: bool = False
    copies: bool = False
    creates_guest: bool = False
    destroys_guest: bool = False
    spoils_guest: bool = False
    event: str | None = None
    reads_instance: bool = True
    migration: str | None = None

    @property
    def asks(self) -> "tuple[OperationStep, ...]":
        """The steps that find out where the guest is, in order."""
        return () if self.ask is None else (self.ask, *self.ask.asks)


# The vm state after an operation may be that of the guest, as its host has found it; or that of the
# guest as it was last reported; or the same as before.
FOUND: Final = "found"
LAST_REPORTED: Final = "last reported"
UNCHANGED: Final = "unchanged"
BEFORE_THE_MOVE: Final = "before the move"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ending:
    """How an operation leaves its server.

    ``vm_state``: of the server. ``otherwise``: instead of ``FOUND``, if the hypervisor cannot
    describe the guest; None: the same as before. ``needs_guest``: without one the server is in
    ERROR. ``leaves_host``: it is on no host then.

    Of a move, ``side``: the one that has the server; None: it stays where it is. ``claims``: the
    sides whose claims stay. ``migration``: its status.
    """

    vm_state: str = FOUND
    leaves_host: bool = False
    otherwise: str | None = None
    needs_guest: bool = False
    side: str | None = None
    claims: tuple[str, ...] = ()
    migration: str | None = None


AS_FOUND: Final = Ending(needs_guest=True)
AS_BEFORE: Final = Ending(vm_state=UNCHANGED)
IN_ERROR: Final = Ending(vm_state=states.ERROR)
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

    def comes_with_lease(self, step: OperationStep) -> bool:
        """Return whether the message of a step brings its lease, and all rows that its host reads.

        A step that undoes another, or does what a late message must not do, has to ask for them.
        """
        spares = not (self.deletes or self.builds or self.uses_images or step.destroys_guest)
        return spares and step in self.steps and (self.is_move or not step.reads_instance)

    @property
    def arrival(self) -> OperationStep | None:
        """The first step of the destination of a move, which may refuse the server."""
        return next((step for step in self.steps if step.at == DESTINATION and step.undo), None)

    @property
    def copy(self) -> OperationStep | None:
        """The step that copies a guest which runs on meanwhile, and can be aborted; None: none."""
        return next((step for step in self.steps if step.ask is not None), None)

    def in_question(self, name: str) -> OperationStep | None:
        """Return the step of which the outcome is asked for by the step of a name; None: none."""
        return next((step for step in self.steps if name in [one.name for one in step.asks]), None)

    @property
    def builds(self) -> bool:
        """Whether it looks for a host, and for another one if that fails."""
        return any(step.elsewhere is not None for step in self.steps)

    @property
    def deletes(self) -> bool:
        """Whether the server is deleted at the end."""
        return self.done.vm_state == DELETED

    def step(self, name: str) -> OperationStep:
        """Return the step of a name, or one that undoes another, asks for its outcome, or the like.

        :raises roost.exception.Invalid: when there is none
        """
        for step in self.steps:
            for one in (step, step.undo, *step.asks, step.elsewhere):
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


def on_host(
    name: str,
    *,
    tasks: tuple[str, ...],
    begins: tuple[str, ...],
    event: str | None,
    action: str | None = None,
    reads_instance: bool = False,
    creates_guest: bool = False,
    destroys_guest: bool = False,
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
        creates_guest=spoils_guest or creates_guest,
        destroys_guest=destroys_guest,
    )
    return Kind(name=name, action=action or name, tasks=tasks, begins=begins, steps=(step,), **more)
