"""Identifies the guest that sends a request, before anything is read for it.

A guest has no credentials. Either Neutron's metadata agent, at the guest's interface, identifies
it and signs that; or the network of a host prevents address spoofing, and the address is enough.
"""

import dataclasses
import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from roost import exception
from roost.cells import Cells
from roost.db.cell import ports
from roost.guestdata import signature

INSTANCE: Final = "HTTP_X_INSTANCE_ID"
PROJECT: Final = "HTTP_X_TENANT_ID"
SIGNATURE: Final = "HTTP_X_INSTANCE_ID_SIGNATURE"
_NAMES: Final = {INSTANCE: signature.INSTANCE, PROJECT: signature.PROJECT}
_SEVERAL: Final = ","  # joins the values of a header that is sent twice


@dataclasses.dataclass(frozen=True)
class Caller:
    """The guest that sends a request. Its instance must match the fields that are not None."""

    instance_uuid: str
    project_id: str | None = None
    host: str | None = None


class CallerIdentity(Protocol):
    """One way to identify the caller."""

    def of(self, environ: Mapping[str, Any]) -> Caller:
        """Return the sender of a request.

        :raises roost.exception.Invalid: when the request does not identify it
        :raises roost.exception.Forbidden: when the signature is invalid
        :raises roost.exception.NotFound: when there is no such guest
        """


class BySignature:
    """Accepts headers that are signed with the secret of the agents."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def of(self, environ: Mapping[str, Any]) -> Caller:
        instance, project = _only(environ, INSTANCE), _only(environ, PROJECT)
        right = signature.sign(self._secret, instance).encode()
        if not hmac.compare_digest(right, str(environ.get(SIGNATURE, "")).encode("latin-1")):
            raise exception.Forbidden("Invalid proxy request signature.", claimed=instance)
        return Caller(instance_uuid=instance, project_id=project)


def _only(environ: Mapping[str, Any], name: str) -> str:
    """Return a header that must come once: two would make the signature ambiguous."""
    value = str(environ.get(name, ""))
    if not value:
        raise exception.Invalid(f"{_NAMES[name]} header is missing from request.")
    if _SEVERAL in value:
        raise exception.Invalid(f"Multiple {_NAMES[name]} headers found within request.")
    return value


class ByAddress:
    """Identifies guests of one host by the addresses that the local network driver gave them.

    An address is looked up each time: it may be another guest's by the next request.

    :param networks: ids of the networks that requests come from
    """

    def __init__(self, cells: Cells, *, host: str, networks: Sequence[str]) -> None:
        self._cells = cells
        self._host = host
        self._networks = networks

    def of(self, environ: Mapping[str, Any]) -> Caller:
        address = _address(str(environ.get("REMOTE_ADDR", "")))
        owners = self._cells.of_host(self._host).database.query(
            ports.owners, ip=address, host=self._host, network_ids=self._networks
        )
        if len(owners) != 1:
            raise exception.NotFound(f"{len(owners)} guests of {self._host} have {address}.")
        return Caller(instance_uuid=owners[0], host=self._host)


def _address(text: str) -> str:
    """Return an address as ports have it; a dual-stack socket maps IPv4 into IPv6."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError as error:
        raise exception.Invalid("The address that this request comes from is not known.") from error
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
