"""The steps of live migrations that are the work of this host: as the source, or the destination.

A cell-conductor sends them one after the other (``conductor/cell/operations/``). The driver of the
source copies the guest, and does so to the end even if this process dies. So when a host has not
reported the end of that step, both hosts are asked where the guest is, the source first.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from roost import exception
from roost.compute.leases import LostLease
from roost.compute.operations.move import bind, find_image, instance_at
from roost.compute.operations.operation import Do, HostOperation, step
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.live_migration import (
    MigratesGuests,
    MigrationDestination,
    MigrationRest,
    MigrationSource,
    MigrationSources,
    pack,
    unpack,
)
from roost.objects.migration import BYTES
from roost.operations.advance import Outcome, find_outcome
from roost.operations.presence import Presence
from roost.operations.steps import ABORT, DESTINATION, FORCE_COMPLETE

LOG = logging.getLogger(__name__)
_LOOK: Final = 1.0  # seconds between two looks at a guest that is copied
_PAUSE: Final = 5.0  # seconds until both hosts are asked again


def _migrating(operation: HostOperation) -> MigratesGuests:
    virt = operation.host.virt
    if not isinstance(virt, MigratesGuests):
        raise exception.Unsupported("The hypervisor of this host cannot migrate running guests.")
    return virt


@step
def describe(operation: HostOperation) -> None:
    """Describe the guest to its destination; it changes nothing."""
    operation.handover = pack(_migrating(operation).departures().describe(operation.uuid))


@step
def make_room(operation: HostOperation) -> None:
    """Check that the guest can run here; claim its resources, and prepare for it.

    :raises roost.exception.Unsupported: when it cannot; the message says why
    """
    host, instance = operation.host, instance_at(operation, DESTINATION)
    arrivals = _migrating(operation).arrivals()
    outgoing = unpack(MigrationSource, operation.row.handover)
    arrivals.check(outgoing)
    host.tracker.claim(instance, arriving=True)
    operation.handover = pack(
        arrivals.prepare(
            operation.context,
            instance,
            outgoing,
            image_path=find_image(operation),
            network_info=host.expect_networks(operation.context, instance),
            resources=GuestResources.of(instance),
        )
    )


@step
def clear_room(operation: HostOperation) -> None:
    """Undo :func:`make_room`."""
    _migrating(operation).arrivals().cancel(operation.uuid)
    operation.host.unplug(operation.uuid)
    operation.host.tracker.release(operation.uuid)


@step
def transfer(operation: HostOperation) -> None:
    """Migrate the guest, and remove what it has left here."""
    departures = _migrating(operation).departures()
    incoming = unpack(MigrationDestination, operation.row.handover)
    with _watched(operation, departures):
        departures.move(operation.uuid, incoming)
    operation.handover = pack(MigrationRest(departures.finish(operation.uuid)))
    operation.host.unplug(operation.uuid)
    operation.host.tracker.forget(operation.uuid)


@contextlib.contextmanager
def _watched(operation: HostOperation, departures: MigrationSources) -> Iterator[None]:
    """Report how much is copied during the block, and do what this host is asked meanwhile."""
    over = threading.Event()

    def watch() -> None:
        done = None
        while not over.wait(_LOOK):
            try:
                asked = _report(operation, departures)
                if asked == ABORT != done:
                    departures.abort(operation.uuid)
                elif asked == FORCE_COMPLETE != done:
                    departures.complete(operation.uuid)
                is_news, done = asked not in (None, done), asked
                if is_news:
                    operation.note_obeyed(str(asked))
            except LostLease:
                return  # the copy goes on: whoever has the operation now asks both hosts
            except exception.RoostError as error:
                LOG.info("%s: %s", operation, error.message)

    watching = threading.Thread(target=watch, name="watch", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _report(operation: HostOperation, departures: MigrationSources) -> str | None:
    found = departures.progress(operation.uuid)
    if found is None:  # it has not begun, or is over
        return None
    copied = {column: getattr(found, column.removesuffix("_bytes")) for column in BYTES}
    return operation.note_copied(**copied)


@step
def look_at_source(operation: HostOperation) -> None:
    """Find out what this host has of the guest, once it is not copied any more."""
    virt, stopping = _migrating(operation), operation.host.stopping
    with _watched(operation, virt.departures()):
        while (found := virt.presence(operation.uuid)) is Presence.LEAVING:
            operation.lease.check()
            if stopping.wait(_LOOK):
                raise exception.Unavailable("The service of this host is shutting down.")
    operation.handover = found.value


@step
def look_at_destination(operation: HostOperation) -> Outcome:
    """Find out whether the guest is here, or where it was."""
    found = _migrating(operation).presence(operation.uuid)
    outcome = find_outcome(operation.row.handover, found)
    if outcome is Outcome.TORN:
        torn = "Its memory is divided between both hosts, as post-copy has failed: both keep it."
        LOG.error("%s: %s", operation, torn)
        operation.timeline.say(torn)
    if outcome is Outcome.UNDECIDED:
        operation.host.stopping.wait(_PAUSE)
    if outcome is Outcome.DONE:
        operation.handover = pack(MigrationRest())
    return outcome


@step
def take_over(operation: HostOperation) -> None:
    """Bind the ports of the guest, which runs here, to this host, and keep it."""
    instance = instance_at(operation, DESTINATION)
    bind(operation, instance)
    rest = unpack(MigrationRest, operation.row.handover)
    paused = _migrating(operation).arrivals().finish(instance, rest.console)
    if paused is not None:
        operation.timeline.say(f"The guest stood still for {paused} ms.")


@step
def go_on_here(operation: HostOperation) -> None:
    """Let the guest run on where it was, with its ports."""
    with contextlib.suppress(exception.NotFound):  # it has ended by itself
        _migrating(operation).departures().stay(operation.uuid)
    bind(operation, operation.instance)


STEPS: Final[Mapping[str, Do]] = {
    do.__name__: do
    for do in (
        *(describe, make_room, clear_room, transfer, look_at_source, look_at_destination),
        *(take_over, go_on_here),
    )
}
