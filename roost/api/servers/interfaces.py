"""Interfaces of a server: list, attach and detach.

A change is an operation on the host; its request waits for the end of it, and the operation goes on
if nobody waits any more.
"""

import contextlib
import uuid
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import locks, operations, policies
from roost.api.servers.tags import TAG
from roost.api.validation import UUID, Schema, of, wrapped
from roost.db.cell import instances
from roost.db.cell import operations as rows
from roost.db.engine import Session
from roost.objects import Instance, OperationParams, Vif
from roost.operations.kinds import ATTACH_INTERFACE, DETACH_INTERFACE
from roost.operations.steps import Kind

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


class ServerInterfaces:
    """Handlers of ``/servers/{id}/os-interface``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
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
        server_ref = self._ready(call, ATTACH_INTERFACE)
        instance, asked = server_ref.instance, call.body["interfaceAttachment"]
        _check(asked)
        request = self._networking.attachment(call, asked, instance=instance)
        if request.port_id in {vif.id for vif in _vifs(instance)}:
            raise exception.Conflict(f"Port {request.port_id} is still in use.")
        self._database.write(
            self._networking.take, requests=[request], groups=[], uuids=[str(instance.uuid)]
        )
        key = str(request.port_id or uuid.uuid4())
        try:
            params = OperationParams.of(request=request, port_id=key)
            self._carry_out(call, server_ref, ATTACH_INTERFACE, params)
            vif = self._attached(server_ref, key)
        except Exception:
            with contextlib.suppress(exception.Unavailable):  # then released with the server
                self._give_back(server_ref, request.port_id, request.network_id)
            raise
        return Answer({"interfaceAttachment": full(vif, version=call.version)})

    def detach(self, call: Call) -> Answer:
        """Detach an interface from a server.

        :raises roost.exception.Conflict: when the server's state does not allow it, or what the
            port has of the host
        """
        server_ref, port_id = self._ready(call, DETACH_INTERFACE), call.params["port_id"]
        instance = server_ref.instance
        try:
            vif = _vif(instance, port_id)
        except exception.NotFound:  # an interrupted attempt may have left it reserved
            self._give_back(server_ref, port_id, None)
            raise
        if any(one.port_id == port_id and one.resources for one in instance.networks):
            raise exception.Conflict(
                f"Port {port_id} has resources of the host, such as bandwidth, which are claimed as"
                " long as the server exists."
            )
        params = OperationParams.of(port_id=port_id)
        self._carry_out(call, server_ref, DETACH_INTERFACE, params)
        self._give_back(server_ref, port_id, vif.network_id)
        return Answer()

    def _carry_out(
        self, call: Call, server_ref: ServerRef, kind: Kind, params: OperationParams
    ) -> None:
        """Let the host do it, and wait for the end; raises as the host does."""
        try:
            operation = operations.accept(self._dependencies, call, server_ref, kind, params=params)
        except exception.Unavailable as error:
            raise exception.Away(error.message) from error
        operations.send(call, server_ref, operation)
        operations.wait_for_end(call, server_ref, operation)

    def _attached(self, server_ref: ServerRef, key: str) -> Vif:
        """Return the interface of a mark, which may be gone again."""
        assert server_ref.cell is not None
        uuid = server_ref.instance.uuid
        info = server_ref.cell.database.query(instances.network_info, uuid)
        for vif in info.vifs if info else []:
            if key in (vif.id, vif.key):
                return vif
        raise exception.Conflict(f"Instance {uuid} has lost the interface that it was given.")

    def _give_back(
        self, server_ref: ServerRef, port_id: str | None, network_id: str | None
    ) -> None:
        """Release the port and the network, unless the server has them, or may get them yet.

        Then they are released with the server, or when the port is detached.
        """
        assert server_ref.cell is not None
        instance_uuid = str(server_ref.instance.uuid)

        def held(session: Session) -> list[tuple[str | None, str | None]]:
            under_way = [one.params for one in rows.list_under_way(session, instance_uuid)]
            asked = [each.request for each in under_way if each is not None and each.request]
            info = instances.network_info(session, instance_uuid)
            return [
                *((vif.id, vif.network_id) for vif in (info.vifs if info else [])),
                *((request.port_id, request.network_id) for request in asked),
            ]

        kept = server_ref.cell.database.query(held)
        if port_id is not None and port_id in {port for port, _network in kept}:
            return
        left = None if network_id in {network for _port, network in kept} else network_id
        self._database.write(
            self._networking.give_back, instance_uuid, port_id=port_id, network_id=left
        )

    def _find(self, call: Call) -> ServerRef:
        return self._locator.find(call, call.params["server_id"])

    def _ready(self, call: Call, kind: Kind) -> ServerRef:
        """Return the server, if this caller may change its interfaces now."""
        server_ref = self._find(call)
        locks.refuse(call, server_ref.instance)
        operations.check(server_ref, kind)
        return server_ref


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
