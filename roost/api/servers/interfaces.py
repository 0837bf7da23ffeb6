"""Interfaces of a server: list, attach and detach.

A change is a call to the host, which is atomic; the API waits for it.
"""

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from typing import Any, Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import locks, operations, policies
from roost.api.servers.host_calls import ServerHost, ServerHosts, for_users
from roost.api.servers.tags import TAG
from roost.api.validation import UUID, Schema, of, wrapped
from roost.cells import Cell
from roost.db.cell import actions, instances
from roost.db.types import utcnow
from roost.objects import Instance, InstanceAction, InstanceActionEvent, Vif
from roost.rpc.compute import Compute

_ROOT = "os_compute_api:os-attach-interfaces"


_ADDRESS = of({"ip_address": {"type": "string", "format": "ip"}}, required=["ip_address"])
_ASKED: Final[dict[str, Any]] = {
    "net_id": UUID,
    "port_id": UUID,
    "fixed_ips": {"type": "array", "minItems": 1, "maxItems": 1, "items": _ADDRESS},
}
TAGGED: Final = 49

ATTACH_BODY: Final = Schema(
    {
        1: wrapped("interfaceAttachment", of(_ASKED)),
        TAGGED: wrapped("interfaceAttachment", of({**_ASKED, "tag": TAG})),
    }
)


_TAGGED: Final = 70


def full(vif: Vif, *, version: int) -> dict[str, Any]:
    """Return an interface; since 2.70 with its device tag."""
    shown = {
        "port_state": "ACTIVE" if vif.active else "DOWN",
        "fixed_ips": [{"subnet_id": one.subnet_id, "ip_address": one.ip} for one in vif.addresses],
        "mac_addr": vif.mac,
        "net_id": vif.network_id,
        "port_id": vif.id,
    }
    return {**shown, "tag": vif.tag} if version >= _TAGGED else shown


ATTACH: Final = "attach_interface"
DETACH: Final = "detach_interface"
_STATES: Final = (states.ACTIVE, states.PAUSED, states.STOPPED)


@dataclasses.dataclass(frozen=True)
class _Ready:
    """A server whose interfaces may be changed, and its host."""

    instance: Instance
    cell: Cell
    host: ServerHost


class ServerInterfaces:
    """Handlers of ``/servers/{id}/os-interface``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._hosts = ServerHosts(dependencies)
        self._networking = dependencies.networking
        self._database = dependencies.api_database

    def list_all(self, call: Call) -> Answer:
        vifs = _vifs(self._find(call).instance)
        return Answer({"interfaceAttachments": [full(vif, version=call.version) for vif in vifs]})

    def show(self, call: Call) -> Answer:
        vif = _vif(self._find(call).instance, call.params["port_id"])
        return Answer({"interfaceAttachment": full(vif, version=call.version)})

    def attach(self, call: Call) -> Answer:
        """Attach an interface to a server.

        :raises roost.exception.Conflict: when the server's state does not allow it
        """
        ready = self._ready(call, self._find(call), ATTACH)
        asked = call.body["interfaceAttachment"]
        _check(asked)
        request = self._networking.attachment(call, asked, instance=ready.instance)
        if request.port_id in {vif.id for vif in _vifs(ready.instance)}:
            raise exception.Conflict(f"Port {request.port_id} is still in use.")
        self._database.write(
            self._networking.take, requests=[request], groups=[], uuids=[str(ready.instance.uuid)]
        )
        key = str(uuid.uuid4())
        try:
            with _recorded(call, ready, ATTACH) as host:
                vif = host.attach_interface(
                    call.context, instance=ready.instance, request=request, key=key
                )
        except Exception as error:
            may_be_attached_yet = isinstance(error.__cause__, exception.Timeout)
            if not may_be_attached_yet:
                with contextlib.suppress(exception.Unavailable):  # then released with the server
                    self._give_back(ready.cell, ready.instance, request.port_id, request.network_id)
            raise
        return Answer({"interfaceAttachment": full(vif, version=call.version)})

    def detach(self, call: Call) -> Answer:
        """Detach an interface from a server.

        :raises roost.exception.Conflict: when the server's state does not allow it, or what the
            port has of the host
        """
        server_ref = self._find(call)
        ready = self._ready(call, server_ref, DETACH)
        port_id = call.params["port_id"]
        try:
            vif = _vif(server_ref.instance, port_id)
        except exception.NotFound:  # an interrupted attempt may have left it reserved
            self._give_back(ready.cell, ready.instance, port_id, None)
            raise
        if any(one.port_id == port_id and one.resources for one in ready.instance.networks):
            raise exception.Conflict(
                f"Port {port_id} has resources of the host, such as bandwidth, which are claimed as"
                " long as the server exists."
            )
        with _recorded(call, ready, DETACH) as host:
            host.detach_interface(call.context, instance=ready.instance, port_id=vif.id)
        self._give_back(ready.cell, ready.instance, port_id, vif.network_id)
        return Answer()

    def _give_back(
        self, cell: Cell, instance: Instance, port_id: str | None, network_id: str | None
    ) -> None:
        """Release the port and the network, unless the server's row still has them."""
        info = cell.database.query(instances.network_info, instance.uuid)
        held = list(info.vifs) if info else []
        if port_id in {vif.id for vif in held}:
            return
        left = None if network_id in {vif.network_id for vif in held} else network_id
        self._database.write(
            self._networking.give_back, str(instance.uuid), port_id=port_id, network_id=left
        )

    def _find(self, call: Call) -> ServerRef:
        return self._locator.find(call, call.params["server_id"])

    def _ready(self, call: Call, server_ref: ServerRef, action: str) -> _Ready:
        """Return the server, if this caller may change its interfaces now."""
        _check_state(call, server_ref.instance, action)
        host = self._hosts.of(call, server_ref)
        assert server_ref.cell is not None  # else it has no host
        return _Ready(server_ref.instance, server_ref.cell, host)


def _vifs(instance: Instance) -> list[Vif]:
    return list(instance.network_info.vifs) if instance.network_info else []


def _vif(instance: Instance, port_id: str) -> Vif:
    for vif in _vifs(instance):
        if vif.id == port_id:
            return vif
    raise exception.NotFound(f"Instance {instance.uuid} does not have port with id {port_id}")


def _check(asked: dict[str, Any]) -> None:
    """Raise :class:`roost.exception.Invalid` for contradictory arguments."""
    if "port_id" in asked and "net_id" in asked:
        raise exception.Invalid("Must not input both network_id and port_id")
    if "fixed_ips" in asked and "net_id" not in asked:
        raise exception.Invalid("Must input network_id when request IP address")


def _check_state(call: Call, instance: Instance, action: str) -> None:
    locks.refuse(call, instance)
    if instance.vm_state not in _STATES:
        raise _refused(instance, action, f"vm_state {instance.vm_state}")
    if instance.task_state is not None:
        raise _refused(instance, action, f"task_state {instance.task_state}")


def _refused(instance: Instance, action: str, state: str) -> exception.Conflict:
    return exception.Conflict(f"Cannot '{action}' instance {instance.uuid} while it is in {state}")


@contextlib.contextmanager
def _recorded(call: Call, ready: _Ready, action: str) -> Iterator[Compute]:
    """Record the block as an instance action, with its result."""
    record = operations.begun(call, str(ready.instance.uuid), action)
    try:
        ready.cell.database.write(actions.start, record)
    except exception.Unavailable as error:
        raise exception.Away(error.message) from error  # the host is not called
    with ready.host.answering() as host:
        try:
            yield host
        except Exception as error:
            _end(ready, record, error)
            raise
    _end(ready, record, None)


def _end(ready: _Ready, record: InstanceAction, error: Exception | None) -> None:
    event = InstanceActionEvent(
        event=f"compute.{record.action}",
        host=ready.instance.host,
        start_time=record.start_time,
        finish_time=utcnow(),
        result="Error" if error else "Success",
        details=exception.details(error) if error else None,
    )
    message = exception.reason(for_users(error, ready.instance)) if error else None
    with contextlib.suppress(exception.Unavailable):  # the action is done, even without its record
        ready.cell.database.write(actions.end, record, [event], message=message)


_ALL: Final = "/v2.1/servers/{server_id}/os-interface"
_ONE: Final = f"{_ALL}/{{port_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerInterfaces, ServerInterfaces.list_all),
        Rule(f"{_ROOT}:list", READER, "List the interfaces of a server.", formerly=_ROOT),
    ),
    row(
        f"POST {_ALL}",
        (ServerInterfaces, ServerInterfaces.attach),
        Rule(f"{_ROOT}:create", MEMBER, "Attach an interface to a server.", formerly=_ROOT),
        checks=(policies.SHOW_HOST,),
        body=ATTACH_BODY,
    ),
    row(
        f"GET {_ONE}",
        (ServerInterfaces, ServerInterfaces.show),
        Rule(f"{_ROOT}:show", READER, "Show an interface.", formerly=_ROOT),
    ),
    row(
        f"DELETE {_ONE}",
        (ServerInterfaces, ServerInterfaces.detach),
        Rule(f"{_ROOT}:delete", MEMBER, "Detach an interface from a server.", formerly=_ROOT),
        status=202,
    ),
)
