"""Runs the operations on servers of this host.

Before: the API wrote the operation's row, and its task into that of the instance, and cast here.
After: the instance has the guest's actual state, and the history why the operation failed, if it
did. Safe to repeat at any point: the host first takes a lease on the operation, so the message of a
finished one does nothing, and an unfinished one is repeated from its beginning.
"""

import functools
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from roost import exception, states
from roost.compute.host import Host
from roost.compute.leases import LostLease
from roost.compute.operations import (
    delete,
    interfaces,
    live_migration,
    move,
    power,
    rebuild,
    shelve,
    snapshot,
)
from roost.compute.operations.operation import Do, HostOperation, Spared
from roost.compute.virt.driver import VirtDriver
from roost.context import RequestContext
from roost.objects import Operation
from roost.operations.advance import Outcome
from roost.operations.shelve_kinds import UNSHELVE, UNSHELVE_OFFLOADED
from roost.operations.steps import DEVICE

LOG = logging.getLogger(__name__)
_WORK: Final = {
    **power.WORK,
    **rebuild.WORK,
    **snapshot.WORK,
    **interfaces.WORK,
    **delete.WORK,
    **shelve.WORK,
}
# What to do in each step; that of an operation on this host alone has the name of its kind.
STEPS: Final[Mapping[str, Do]] = {
    **{kind.name: do for kind, do in _WORK.items()},
    **move.STEPS,
    **live_migration.STEPS,
}


class _Ended(NamedTuple):
    """How a step has ended; if it failed, why, for its user, and with which error."""

    outcome: Outcome
    reason: str | None = None
    code: str | None = None

    @classmethod
    def by(cls, error: Exception, operation: HostOperation, outcome: Outcome) -> Self:
        shown = exception.without_host(error, operation.host.name)
        code = getattr(error, "code", exception.Internal.code)
        return cls(outcome, exception.reason(shown), code)


def run(operation: HostOperation, *, is_begun: bool = False) -> bool:
    """Run an operation that is under way; nothing else may work on the instance.

    :param is_begun: it was taken up just now
    :returns: False when it is over, or another host's
    :raises roost.exception.Unavailable: when the conductor does not answer
    """
    host = operation.host
    if not (is_begun or operation.take_up()):
        LOG.info("%s is not under way on %s any more", operation, host.name)
        return False
    LOG.info("%s begins on %s", operation, host.name)
    try:
        ended = _try(operation)
    except LostLease as error:
        LOG.info("%s ends without a report: %s", operation, error.message)
        if operation.kind.failed.leaves_host:
            shelve.leave_nothing(operation)
        return True
    is_done, kind = ended.outcome is Outcome.DONE, operation.kind
    if not is_done and kind.failed.leaves_host:
        shelve.leave_nothing(operation)
    reported = _report(operation, ended)
    if reported and is_done and operation.step.creates_guest:
        host.tracker.built(operation.uuid)
        host.note_announced(operation.uuid)
    if reported and is_done and kind in (UNSHELVE, UNSHELVE_OFFLOADED):
        shelve.forget_image(operation)
    if is_done and (kind.deletes or kind.done.leaves_host):
        host.tracker.forget(operation.uuid)  # not before the conductor knows: see resource_tracker
    return True


def _try(operation: HostOperation) -> _Ended:
    """Do the work; return how it ended.

    :raises LostLease: when the operation is no longer this host's
    """
    failed = Outcome.UNDECIDED if operation.step.ask is not None else Outcome.FAILED
    if operation.step.spoils_guest:
        failed = Outcome.SPOILT
    try:
        return _Ended(_do(operation) or Outcome.DONE)
    except LostLease:
        raise
    except Spared as error:
        return _Ended.by(error, operation, Outcome.FAILED)
    except Exception as error:
        if isinstance(error, exception.RoostError):
            LOG.warning("%s failed: %s", operation, error.message)
        else:
            LOG.exception("%s failed", operation)
        return _Ended.by(error, operation, failed)
    finally:
        operation.host.images.release(operation)


def _do(operation: HostOperation) -> Outcome | None:
    """Do a step; one of a move or of a device again for a while, if another cannot be reached.

    That is no refusal, and undoing it would need the same.
    """
    do = functools.partial(STEPS[operation.step.name], operation)
    if operation.kind.is_move or operation.kind.lock == DEVICE:
        retry = operation.host.step_patience.retry
        return retry(str(operation), do, stopping=operation.host.stopping)
    return do()


def _report(operation: HostOperation, ended: _Ended) -> bool:
    """Report the guest's state to the conductor; retry, because only this host knows it.

    :returns: whether the conductor accepted the report
    """
    host = operation.host
    send = functools.partial(
        host.conductor.end_operation,
        operation.context,
        operation=operation.named,
        events=list(operation.timeline.events),
        outcome=ended.outcome,
        reason=ended.reason,
        code=ended.code,
        handover=operation.handover,
        network_info=operation.network_info,
        **_as_found(host.virt, operation.uuid),
    )
    try:
        host.patience.retry(f"{operation}: report", send, stopping=host.stopping)
    except (exception.Conflict, exception.NotFound) as error:
        # reported before and the answer lost, or deleted, or given up by the conductor
        LOG.info("%s is over already: %s", operation, error.message)
        return False
    LOG.info("%s is done on %s", operation, host.name)
    return True


def refuse(host: Host, context: RequestContext, operation: Operation) -> None:
    """End an operation of a kind that this host does not know; its guest stays as it is.

    :raises roost.exception.RoostError: when the conductor does not answer, or refuses
    """
    LOG.warning(
        "[instance: %s] %s is unknown here: roost-compute on %s is too old for it",
        operation.instance_uuid, operation.kind, host.name,
    )  # fmt: skip
    host.conductor.end_operation(
        context,
        operation=operation,
        events=[],
        outcome=Outcome.FAILED,
        reason="The host of the server is too old for this action; nothing was done.",
        **_as_found(host.virt, operation.instance_uuid),
    )


def _as_found(virt: VirtDriver, instance_uuid: str) -> dict[str, Any]:
    """Return a guest's power state (None: no guest) and its server's vm state, for the report.

    NOSTATE: the hypervisor cannot describe it.
    """
    try:
        guest = virt.describe(instance_uuid)
    except exception.NotFound:
        return {"power_state": None}
    except Exception:
        LOG.exception("[instance: %s] hypervisor cannot describe the guest", instance_uuid)
        return {"power_state": states.NOSTATE}
    return {"power_state": guest.power_state, "vm_state": guest.vm_state}
