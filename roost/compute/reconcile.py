"""Reconciliation of the hypervisor's guests with the cell's rows, at start and periodically.

A guest that starts or stops by itself is checked at once, if the hypervisor reports it.

Guests are read first, then rows. A change in between may look like a difference, so each difference
is judged a second time under the instance's lock. Instances with a task are left alone: the task
ends by itself, and its lease ends when no process works on it any more. ``reconcile_rules.py``
decides what is done.
"""

import collections
import contextlib
import dataclasses
import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from roost import exception, states
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.locks import Locks
from roost.compute.network.driver import PlugsGuests
from roost.compute.reconcile_rules import (
    Correction,
    GuestDecision,
    decide,
    is_unnoted,
)
from roost.compute.virt.cold_migration import MovesGuests
from roost.compute.virt.driver import Guest
from roost.context import RequestContext, admin_context
from roost.objects import HostFinding, InstanceActionEvent, InstanceLocation
from roost.objects.host import DELETED, ELSEWHERE, HERE, LEFT, NOWHERE

LOG = logging.getLogger(__name__)
_GONE: Final = (DELETED, ELSEWHERE, LEFT, NOWHERE)


class Reconciler:
    """Corrects differences between guests and rows on one host.

    :param locks: held while a thread works on an instance
    :param is_building: whether a build of an instance is under way or queued
    :param resumes: whether guests that ran are started again after a reboot of the node
    """

    def __init__(
        self,
        host: Host,
        *,
        locks: Locks,
        is_building: Callable[[str], bool],
        resumes: bool = False,
    ) -> None:
        self._host = host
        self._locks = locks
        self._is_building = is_building
        self._resumes = resumes
        self._one_at_a_time = threading.Lock()
        self._reported: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._left: dict[str, str] = {}
        self._unfinished: set[str] = set()  # guests of builds that have not ended
        self.counts: collections.Counter[Correction] = collections.Counter()

    def run(self) -> None:
        """Compare all guests and rows once; any thread may call it.

        :raises roost.exception.Unavailable: when the cell does not answer; the next run compares
            the rest
        """
        with self._one_at_a_time:
            self._compare(admin_context())

    def hear(self, uuid: str | None) -> None:
        """Queue a guest that has changed by itself for :meth:`follow`; None: an unknown guest."""
        self._reported.put(uuid)

    def follow(self) -> None:
        """Reconcile the guests that the hypervisor has reported; call it often.

        :raises roost.exception.Unavailable: when the cell does not answer; :meth:`run` retries
        """
        reported = set()
        with contextlib.suppress(queue.Empty):
            while True:
                reported.add(self._reported.get_nowait())
        if None in reported:
            self.run()
            return
        self._look_at({uuid for uuid in reported if uuid})

    def watch(self) -> None:
        """Reconcile guests of builds that no thread here works on; call it every few seconds.

        A daemon that died has left them. When their builds begin again here or on another host,
        such a guest is a leftover.

        :raises roost.exception.Unavailable: when the cell does not answer; the next call retries
        """
        self._look_at(self._unfinished)

    def _look_at(self, uuids: Collection[str]) -> None:
        with self._one_at_a_time:
            for uuid in sorted(uuids):
                self._look_again(admin_context(), uuid)

    def _compare(self, context: RequestContext) -> None:
        self._look_after_networks()
        before = self.counts.copy()
        found = map(self._find, self._host.virt.list_guests())
        guests = {guest.uuid: guest for guest in found if guest}  # before the rows: see above
        rows = self._ask(context, guests, and_others_here=True)
        uuids = {*guests, *(row.instance_uuid for row in rows)}
        self._left = {uuid: why for uuid, why in self._left.items() if uuid in uuids}
        for row in rows:
            guest = guests.get(row.instance_uuid)
            self._note(guest, row)
            decision = decide(guest, row, resumes=self._resumes)
            if self._is_news(row.instance_uuid, decision) or is_unnoted(guest, row):
                self._look_again(context, row.instance_uuid)
        self._discard_leftovers(context, {*guests})
        done = self.counts - before
        if done:
            counts = ", ".join(f"{many} {correction.value}" for correction, many in done.items())
            LOG.warning(
                "guests of host %s differed from the rows of its cell: %s", self._host.name, counts
            )

    def _discard_leftovers(self, context: RequestContext, guests: set[str]) -> None:
        """Remove what moves have left of instances that are not here, and do not move here."""
        if not isinstance(self._host.virt, MovesGuests):
            return
        moves = self._host.virt.cold_moves()
        for uuid in sorted(moves.leftovers() - guests):
            if self._locks.is_held(uuid):
                continue
            with self._locks.hold(uuid):
                if any(row.presence in _GONE for row in self._ask(context, [uuid])):
                    LOG.info("[instance: %s] what its move has left here is removed", uuid)
                    moves.discard(uuid)

    def _look_after_networks(self) -> None:
        """Restore what guests are plugged into, and unplug guests that no longer exist."""
        networks = self._host.networks
        if not isinstance(networks, PlugsGuests):
            return
        networks.restore()
        plugged = networks.plugged()  # before the guests, so that no new guest is unplugged
        for uuid in sorted({*plugged} - {*self._host.virt.list_guests()}):
            if not self._locks.is_held(uuid):
                with self._locks.hold(uuid):
                    self._unplug_leftover(uuid)

    def _unplug_leftover(self, uuid: str) -> None:
        if self._is_building(uuid) or self._host.virt.exists(uuid):
            return
        LOG.warning("[instance: %s] guest does not exist: unplugging its interfaces", uuid)
        try:
            self._host.unplug(uuid)
        except Exception:
            LOG.exception(
                "[instance: %s] interfaces could not be unplugged; the next run retries", uuid
            )

    def _find(self, uuid: str) -> Guest | None:
        """Return a guest; without details when the hypervisor cannot describe it."""
        try:
            return self._host.virt.describe(uuid)
        except exception.NotFound:
            return None
        except Exception:
            LOG.exception("[instance: %s] hypervisor cannot describe the guest", uuid)
            return Guest(uuid, states.NOSTATE, vcpus=0, memory_mb=0)

    def _ask(
        self, context: RequestContext, uuids: Iterable[str], *, and_others_here: bool = False
    ) -> list[InstanceLocation]:
        return self._host.conductor.locate_instances(
            context,
            host=self._host.name,
            instance_uuids=list(uuids),
            and_others_here=and_others_here,
        )

    def _note(self, guest: Guest | None, row: InstanceLocation) -> None:
        """Remember a guest whose build has not ended, and forget it when it has."""
        uuid = str(row.instance_uuid)
        if guest is not None and row.presence == HERE and row.vm_state == states.BUILDING:
            self._unfinished.add(uuid)
        else:
            self._unfinished.discard(uuid)

    def _is_news(self, uuid: str, decision: GuestDecision | None) -> bool:
        """Return whether to act on a difference; one that is left alone is reported only once."""
        if decision is None:
            self._left.pop(uuid, None)
            return False
        stays = decision.correction is Correction.LEAVE
        return not stays or self._left.get(uuid) != decision.why

    def _look_again(self, context: RequestContext, uuid: str) -> None:
        """Judge once more under the instance's lock, and act."""
        if self._locks.is_held(uuid):
            return
        with self._locks.hold(uuid):
            if self._is_building(uuid):
                return
            guest = self._find(uuid)
            for row in self._ask(context, [uuid]):
                self._note(guest, row)
                if is_unnoted(guest, row):
                    self._host.note_announced(uuid)
                decision = decide(guest, row, resumes=self._resumes)
                if decision is not None and self._is_news(uuid, decision):
                    self._correct(context, guest, row, decision)

    def _correct(
        self,
        context: RequestContext,
        guest: Guest | None,
        row: InstanceLocation,
        decision: GuestDecision,
    ) -> None:
        uuid = str(row.instance_uuid)
        try:
            self._act(context, guest, row, decision)
        except exception.Unavailable:
            raise
        except (exception.Conflict, exception.NotFound) as error:
            LOG.info("[instance: %s] needs no correction any more: %s", uuid, error.message)
        except Exception:
            LOG.exception("[instance: %s] cannot be corrected: %s", uuid, decision.why)
        else:
            self._send_outcome(context, uuid, decision)

    def _act(
        self,
        context: RequestContext,
        guest: Guest | None,
        row: InstanceLocation,
        decision: GuestDecision,
    ) -> None:
        uuid = str(row.instance_uuid)
        if decision.correction is Correction.DESTROY:
            self._host.destroy(uuid)
            self._host.tracker.forget(uuid)
        elif decision.correction is Correction.LEAVE:
            self._left[uuid] = decision.why
        elif decision.correction is Correction.STOP and guest is not None:
            self._host.virt.power_off(uuid)
            self._report(context, row, dataclasses.replace(guest, power_state=states.SHUTDOWN))
        elif decision.correction is Correction.START and guest is not None:
            self._start(context, guest, row, decision.why)
        else:
            self._report(context, row, guest, decision.why)

    def _start(
        self, context: RequestContext, guest: Guest, row: InstanceLocation, why: str
    ) -> None:
        """Start a guest; if that fails, report its state, and its user may try again."""
        timeline = InstanceEvents(self._host.name)
        try:
            with timeline.step("compute.start"):
                self._host.virt.power_on(guest.uuid)
        except exception.Unavailable:  # the hypervisor is not there (yet)
            raise
        except Exception as error:
            why = f"{why}; it could not be started: {exception.reason(error)}"
            self._report(context, row, guest, why, events=timeline.events)
            raise

    def _report(
        self,
        context: RequestContext,
        row: InstanceLocation,
        guest: Guest | None,
        why: str | None = None,
        *,
        events: Sequence[InstanceActionEvent] = (),
    ) -> None:
        """Update the row to the guest's state, if the row has not changed since it was judged."""
        self._host.conductor.report_power(
            context,
            instance_uuid=row.instance_uuid,
            host=self._host.name,
            power_state=guest.power_state if guest else None,
            vm_state=guest.vm_state if guest else None,
            seen=str(row.vm_state),
            events=list(events),
            reason=why and f"{why[0].upper()}{why[1:].removesuffix('.')}.",
        )

    def _send_outcome(self, context: RequestContext, uuid: str, decision: GuestDecision) -> None:
        """Count and log the correction, and send a notification."""
        self.counts[decision.correction] += 1
        LOG.warning("[instance: %s] %s: %s", uuid, decision.correction.value, decision.why)
        finding = HostFinding(
            host=self._host.name,
            instance_uuid=uuid,
            kind=decision.correction.value,
            reason=decision.why,
        )
        try:
            self._host.conductor.report_finding(context, finding=finding)
        except exception.Unavailable as error:
            LOG.info("[instance: %s] could not notify of the correction: %s", uuid, error.message)
