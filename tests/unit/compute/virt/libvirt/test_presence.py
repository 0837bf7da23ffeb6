"""How a guest that may be on its way is found in what libvirt tells of it."""

import libvirt
import pytest

from roost.compute.virt.libvirt.presence import presence, progress
from roost.compute.virt.live_migration import Phase
from roost.operations.presence import Presence

RUNNING = (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_RUNNING_BOOTED)
OFF = (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_SHUTDOWN)
USER, MIGRATION, POSTCOPY, BROKEN = (
    (libvirt.VIR_DOMAIN_PAUSED, getattr(libvirt, f"VIR_DOMAIN_PAUSED_{why}"))
    for why in ("USER", "MIGRATION", "POSTCOPY", "POSTCOPY_FAILED")
)
BROKEN_THERE = (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_RUNNING_POSTCOPY_FAILED)
IDLE = {"type": libvirt.VIR_DOMAIN_JOB_NONE}
LEAVES = {
    "type": libvirt.VIR_DOMAIN_JOB_UNBOUNDED,
    "operation": libvirt.VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT,
}
SAVES = LEAVES | {"operation": libvirt.VIR_DOMAIN_JOB_OPERATION_SAVE}


class Failure(libvirt.libvirtError):
    def __init__(self, code):
        Exception.__init__(self, "libvirt says no")
        self.err = (code, libvirt.VIR_FROM_QEMU, "no", 2, "", "", "", 0, 0)


class Domain:
    """What libvirt tells of one: a job, or why there is none to be told of."""

    def __init__(self, state, job):
        self.state = lambda: [*state]
        self.isActive = lambda: state != OFF
        self._job = job

    def jobStats(self):  # noqa: N802 - libvirt's name
        if isinstance(self._job, int):
            raise Failure(self._job)
        return self._job


@pytest.mark.parametrize(
    ("state", "job", "found"),
    [
        (RUNNING, IDLE, Presence.HERE),
        (USER, IDLE, Presence.HERE),
        (RUNNING, SAVES, Presence.HERE),
        (OFF, libvirt.VIR_ERR_OPERATION_INVALID, Presence.STOPPED),
        (RUNNING, LEAVES, Presence.LEAVING),
        (MIGRATION, LEAVES, Presence.LEAVING),
        (POSTCOPY, LEAVES, Presence.LEAVING),
        (MIGRATION, libvirt.VIR_ERR_OPERATION_UNSUPPORTED, Presence.ARRIVING),
        (MIGRATION, IDLE, Presence.UNDECIDED),
        (POSTCOPY, IDLE, Presence.TORN),
        (BROKEN, LEAVES, Presence.TORN),
        (BROKEN, IDLE, Presence.TORN),
        (BROKEN_THERE, IDLE, Presence.TORN),
        (BROKEN_THERE, libvirt.VIR_ERR_OPERATION_UNSUPPORTED, Presence.TORN),
    ],
)
def test_a_guest_is_where_libvirt_says(state, job, found):
    assert presence(Domain(state, job)) is found


def test_what_libvirt_cannot_tell_is_not_guessed():
    with pytest.raises(libvirt.libvirtError):
        presence(Domain(RUNNING, libvirt.VIR_ERR_INTERNAL_ERROR))


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        (RUNNING, Phase.COPYING),
        (USER, Phase.COPYING),
        (MIGRATION, Phase.SWITCHING),
        (POSTCOPY, Phase.POST_COPY),
    ],
)
def test_a_move_is_told_in_bytes(state, phase):
    job = LEAVES | {"memory_total": 9, "memory_dirty_rate": 2, "memory_page_size": 4096}
    found = progress(Domain(state, job | {"disk_total": 7, "downtime": 3, "time_elapsed": 5}))
    assert (found.phase, found.dirty_rate) == (phase, 8192)
    assert (found.memory_total, found.disk_total, found.downtime, found.elapsed) == (9, 7, 3, 5)


def test_only_who_leaves_has_progress():
    assert progress(Domain(RUNNING, SAVES)) is None
    assert progress(Domain(MIGRATION, libvirt.VIR_ERR_OPERATION_UNSUPPORTED)) is None
