"""Names of the states of an instance and of its guest.

An instance is in a *vm state* and may have a *task state*: that of a build, of a delete, or of an
operation (``operations/kinds.py``). ``operations/transitions.py`` has the allowed moves.
"""

from typing import Final, NamedTuple

BUILDING: Final = "building"
ACTIVE: Final = "active"
STOPPED: Final = "stopped"
PAUSED: Final = "paused"
SUSPENDED: Final = "suspended"
RESCUED: Final = "rescued"
RESIZED: Final = "resized"  # moved; it waits for its user to confirm or revert
ERROR: Final = "error"
SHELVED: Final = "shelved"  # stopped; an image has its disk
SHELVED_OFFLOADED: Final = "shelved_offloaded"  # on no host; only the image is left
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
TRIGGERING_CRASH_DUMP: Final = "triggering_crash_dump"
UPDATING_PASSWORD: Final = "updating_password"  # noqa: S105 - a state
RESIZE_PREP: Final = "resize_prep"
RESIZE_MIGRATING: Final = "resize_migrating"
RESIZE_FINISH: Final = "resize_finish"
RESIZE_CONFIRMING: Final = "resize_confirming"
RESIZE_REVERTING: Final = "resize_reverting"
EVACUATING: Final = "evacuating"
MIGRATING: Final = "migrating"
SHELVING: Final = "shelving"
SHELVING_IMAGE_PENDING_UPLOAD: Final = "shelving_image_pending_upload"
SHELVING_IMAGE_UPLOADING: Final = "shelving_image_uploading"
SHELVING_OFFLOADING: Final = "shelving_offloading"
UNSHELVING: Final = "unshelving"
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
# Power state -> vm state without a task. NOSTATE has none.
AS_FOUND: Final = {RUNNING: ACTIVE, SHUTDOWN: STOPPED, HELD: PAUSED, SAVED: SUSPENDED}
# Servers in these states have a guest on their host. The guest itself records that it is rescued.
WITH_GUEST: Final = (*AS_FOUND.values(), RESCUED)


class State(NamedTuple):
    """The vm state of an instance, and its task state (None: no task)."""

    vm: str
    task: str | None = None


WAITING: Final = State(BUILDING, SCHEDULING)


def is_soft_deleted(vm_state: str, task_state: str | None) -> bool:
    """Return whether a server is soft-deleted, or about to be."""
    return (vm_state == SOFT_DELETED and task_state != RESTORING) or task_state == SOFT_DELETING


def as_found(power_state: int, *, rescued: bool) -> str | None:
    """Return the vm state for a power state of the guest; None: unknown."""
    found = AS_FOUND.get(power_state)
    return RESCUED if rescued and found is not None else found
