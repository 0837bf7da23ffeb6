"""What kinds of operations are made of: their steps, and how they leave the server."""

import dataclasses
from typing import Final

from roost import states

# Who does a step: the host of the server, or that of one side of its migration.
HOST: Final = "host"
SOURCE: Final = "source"
DESTINATION: Final = "destination"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OperationStep:
    """A step of an operation, which is the work of one host. It may be repeated.

    ``name``: of its function on the host. ``at``: who does it. ``task``: the task state meanwhile;
    None: the server stays in the states that it is in. ``undo``: the step that undoes it, even if
    it is half done; None: it is repeated until it is done, or its host is fenced. ``ask``: the step
    that finds out where the guest is, if this one may have changed that before its host died; until
    then nothing is undone or repeated.

    ``when_down``: the operation goes on without it even while its host is only down: no guest runs
    there. A host that was left out removes what it has of the server when it is up again.
    ``copies``: it copies disks, and may take hours. ``creates_guest``, ``destroys_guest``: on its
    host. ``spoils_guest``: its failure leaves no usable guest. ``event``: the name of its
    notifications; steps that follow each other may share one. ``reads_instance``: the host needs
    the whole instance, not the migration alone.
    """

    name: str
    at: str = HOST
    task: str | None
    undo: "OperationStep | None" = None
    ask: "OperationStep | None" = None
    when_down: bool = False
    copies: bool = False
    creates_guest: bool = False
    destroys_guest: bool = False
    spoils_guest: bool = False
    event: str | None = None
    reads_instance: bool = True


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
    ERROR.

    Of a move, ``side``: the one that has the server; None: it stays where it is. ``claims``: the
    sides whose claims stay. ``migration``: its status.
    """

    vm_state: str = FOUND
    otherwise: str | None = None
    needs_guest: bool = False
    side: str | None = None
    claims: tuple[str, ...] = ()
    migration: str | None = None


AS_FOUND: Final = Ending(needs_guest=True)
AS_BEFORE: Final = Ending(vm_state=UNCHANGED)
IN_ERROR: Final = Ending(vm_state=states.ERROR)
