"""The kinds of operations on a server: one row each, and all that depends on the kind.

A new kind needs its row here, a function on the host for each step, with its row in ``WORK``
(``power.py`` and others in ``compute/operations/``), and an action of the API
(``api/servers/actions.py``); CONTRIBUTING.rst lists the files. The step of a build is the flow of
``compute/operations/build.py``.

Each step of an operation is the work of one host, which reports its end to a cell-conductor. What
follows then is in ``advance.py``. An operation on the host of the server has one step.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Final

from roost import exception, states
from roost.objects.migration import (
    COMPLETED,
    CONFIRMED,
    DONE,
    FAILED,
    FINISHED,
    LIVE_FAILED,
    POST_MIGRATING,
    PREPARING,
    REVERTED,
    RUNNING,
)
from roost.operations.shelve_kinds import (
    SHELVE,
    SHELVE_OFFLOAD,
    UNSHELVE,
    UNSHELVE_OFFLOADED,
)
from roost.operations.steps import (
    AS_BEFORE,
    BEFORE_THE_MOVE,
    CONDUCTOR,
    DESTINATION,
    DEVICE,
    DISK,
    IN_ERROR,
    LAST_REPORTED,
    SERVER,
    SOURCE,
    UNCHANGED,
    Ending,
    Kind,
    OperationStep,
    on_host,
)
from roost.states import (
    ACTIVE,
    BUILDING,
    DELETED,
    ERROR,
    PAUSED,
    RESCUED,
    RESIZED,
    SHELVED,
    SHELVED_OFFLOADED,
    SOFT_DELETED,
    STOPPED,
    SUSPENDED,
    WITH_GUEST,
)

# The schedulers have chosen its first host. Restarts of a build on its host are counted, as it may
# be what kills that.
BUILD: Final = Kind(
    name="build",
    action="create",
    tasks=states.BUILD_TASKS,
    begins=(BUILDING,),
    tries=3,
    steps=(
        OperationStep(
            name="build",
            task=states.SCHEDULING,
            creates_guest=True,
            elsewhere=OperationStep(name="place", at=CONDUCTOR, task=states.SCHEDULING),
        ),
    ),
    done=Ending(vm_state=ACTIVE),
    failed=IN_ERROR,
    lost=IN_ERROR,
)
STOP: Final = on_host(
    "stop",
    tasks=(states.POWERING_OFF,),
    begins=(ACTIVE, ERROR),
    event="power_off",
    leads_to=STOPPED,
)
START: Final = on_host(
    "start",
    tasks=(states.POWERING_ON,),
    begins=(STOPPED,),
    event="power_on",
)
REBOOT: Final = on_host(
    "reboot",
    tasks=(states.REBOOTING,),
    begins=(ACTIVE,),
    event="reboot",
    statuses={ACTIVE: "REBOOT"},
    preempted_by="hard_reboot",
)
HARD_REBOOT: Final = on_host(
    "hard_reboot",
    action="reboot",
    tasks=(states.REBOOTING_HARD,),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED, ERROR),
    event="reboot",
    statuses={ACTIVE: "HARD_REBOOT"},
)
PAUSE: Final = on_host(
    "pause",
    tasks=(states.PAUSING,),
    begins=(ACTIVE,),
    event="pause",
    leads_to=PAUSED,
)
UNPAUSE: Final = on_host(
    "unpause",
    tasks=(states.UNPAUSING,),
    begins=(PAUSED,),
    event="unpause",
)
SUSPEND: Final = on_host(
    "suspend",
    tasks=(states.SUSPENDING,),
    begins=(ACTIVE,),
    event="suspend",
    leads_to=SUSPENDED,
)
RESUME: Final = on_host(
    "resume",
    tasks=(states.RESUMING,),
    begins=(SUSPENDED,),
    event="resume",
)
REBUILD: Final = on_host(
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
CREATE_IMAGE: Final = on_host(
    "create_image",
    action="createImage",
    tasks=(states.IMAGE_SNAPSHOT_PENDING, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    lock=DISK,
    reads_instance=True,
    uses_images=True,
)
CREATE_BACKUP: Final = on_host(
    "create_backup",
    action="createBackup",
    tasks=(states.IMAGE_BACKUP, *_IMAGE_STEPS),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="snapshot",
    lock=DISK,
    reads_instance=True,
    uses_images=True,
)
RESCUE: Final = on_host(
    "rescue",
    tasks=(states.RESCUING,),
    begins=(ACTIVE, STOPPED, ERROR),
    event="rescue",
    leads_to=RESCUED,
    reads_instance=True,
    uses_images=True,
)
UNRESCUE: Final = on_host(
    "unrescue",
    tasks=(states.UNRESCUING,),
    begins=(RESCUED,),
    event="unrescue",
)
CHANGE_PASSWORD: Final = on_host(
    "change_password",
    action="changePassword",
    tasks=(states.UPDATING_PASSWORD,),
    begins=(ACTIVE,),
    event=None,
    statuses={ACTIVE: "PASSWORD"},
    why_not_resent="The password did not reach the server: set it again.",
)
TRIGGER_CRASH_DUMP: Final = on_host(
    "trigger_crash_dump",
    tasks=(states.TRIGGERING_CRASH_DUMP,),
    begins=(ACTIVE, PAUSED, RESCUED, ERROR),
    event="trigger_crash_dump",
    why_not_resent="The host of the server has not said whether it was done: look, and ask for it"
    " again.",
    since="1.4",
)
# Its guest has ended with its server; what is left of it is removed until nothing is.
DELETE: Final = on_host(
    "delete",
    tasks=(states.DELETING,),
    begins=(
        *(BUILDING, *WITH_GUEST, RESIZED, ERROR, SOFT_DELETED),
        *(SHELVED, SHELVED_OFFLOADED),
    ),
    event="delete",
    repeated_until_done=True,
    since="1.6",
    done=Ending(vm_state=DELETED),
    lost=Ending(vm_state=DELETED),
)
SOFT_DELETE: Final = on_host(
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
ATTACH_INTERFACE: Final = on_host(
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
DETACH_INTERFACE: Final = on_host(
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
# Its host is down for good, and has noted there what it is to remove when it is up again.
EVACUATE: Final = Kind(
    name="evacuate",
    action="evacuate",
    tasks=(states.EVACUATING,),
    begins=(ACTIVE, STOPPED, ERROR),
    statuses=dict.fromkeys((ACTIVE, STOPPED, ERROR), "REBUILD"),
    uses_images=True,
    since="1.7",
    steps=(
        OperationStep(
            name="revive",
            at=DESTINATION,
            task=states.EVACUATING,
            creates_guest=True,
            undo=OperationStep(
                name="withdraw", at=DESTINATION, task=states.EVACUATING, destroys_guest=True
            ),
            event="evacuate",
        ),
    ),
    done=Ending(otherwise=BEFORE_THE_MOVE, side=DESTINATION, claims=(DESTINATION,), migration=DONE),
    failed=Ending(vm_state=UNCHANGED, claims=(SOURCE,), migration=FAILED),
)
_live_step: Final = functools.partial(OperationStep, task=states.MIGRATING)
# The guest runs on while its memory and its disks are copied. What it has left at its source is
# removed there in the same step, unless the source dies meanwhile: then it is noted there.
LIVE_MIGRATE: Final = Kind(
    name="live_migrate",
    action="live-migration",
    tasks=(states.MIGRATING,),
    begins=(ACTIVE, PAUSED),
    statuses=dict.fromkeys((ACTIVE, PAUSED), "MIGRATING"),
    since="1.8",
    steps=(
        _live_step(
            name="describe",
            at=SOURCE,
            event="live_migration_pre",
            migration=PREPARING,
            undo=_live_step(
                name="go_on_here",
                at=SOURCE,
                event="live_migration_rollback",
            ),
        ),
        _live_step(
            name="make_room",
            at=DESTINATION,
            event="live_migration_pre",
            migration=PREPARING,
            undo=_live_step(name="clear_room", at=DESTINATION, when_down=True),
        ),
        _live_step(
            name="transfer",
            at=SOURCE,
            copies=True,
            migration=RUNNING,
            ask=_live_step(
                name="look_at_source",
                at=SOURCE,
                ask=_live_step(name="look_at_destination", at=DESTINATION),
            ),
        ),
        _live_step(
            name="take_over",
            at=DESTINATION,
            creates_guest=True,
            event="live_migration_post",
            migration=POST_MIGRATING,
        ),
    ),
    done=Ending(
        otherwise=BEFORE_THE_MOVE, side=DESTINATION, claims=(DESTINATION,), migration=COMPLETED
    ),
    failed=Ending(vm_state=UNCHANGED, claims=(SOURCE,), migration=LIVE_FAILED),
    lost=Ending(vm_state=ERROR, claims=(SOURCE,), migration=LIVE_FAILED),
)
# The state of a guest whose host is down is unknown: its row follows it later.
RESTORE: Final = on_host(
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
        BUILD,
        *(STOP, START, REBOOT, HARD_REBOOT, PAUSE, UNPAUSE, SUSPEND, RESUME),
        *(REBUILD, CREATE_IMAGE, CREATE_BACKUP, RESCUE, UNRESCUE, CHANGE_PASSWORD),
        *(TRIGGER_CRASH_DUMP, MIGRATE, RESIZE, CONFIRM_RESIZE, REVERT_RESIZE),
        *(EVACUATE, LIVE_MIGRATE),
        *(SHELVE, SHELVE_OFFLOAD, UNSHELVE, UNSHELVE_OFFLOADED),
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
