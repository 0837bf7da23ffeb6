"""Which guest asks: nobody is told anything before this is known.

A guest proves nothing by itself. Either Neutron's metadata agent, which sits where the guest's
interface ends, says who it is and signs that; or the network of a host lets no guest use another's
address, and then the address is enough.
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
_SEVERAL: Final = ","  # how servers join a header that is sent twice


@dataclasses.dataclass(frozen=True)
class Asker:
    """The guest that asks. What is not None its instance must agree with."""

    instance_uuid: str
    project_id: str | None = None
    host: str | None = None


class CallerIdentity(Protocol):
    """One way to learn who asks."""

    def of(self, environ: Mapping[str, Any]) -> Asker:
        """Return who sends a request.

        :raises roost.exception.Invalid: when it does not say
        :raises roost.exception.Forbidden: when it does not prove it
        :raises roost.exception.NotFound: when it is nobody's
        """


class BySignature:
    """Believes what is signed with the secret that only the agents share."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def of(self, environ: Mapping[str, Any]) -> Asker:
        instance, project = _only(environ, INSTANCE), _only(environ, PROJECT)
        if not self._is_signed(instance, str(environ.get(SIGNATURE, ""))):
            raise exception.Forbidden("Invalid proxy request signature.", claimed=instance)
        return Asker(instance_uuid=instance, project_id=project)

    def _is_signed(self, instance: str, claimed: str) -> bool:
        right = signature.sign(self._secret, instance)
        return hmac.compare_digest(right.encode(), claimed.encode("latin-1"))


def _only(environ: Mapping[str, Any], name: str) -> str:
    """Return a header that must come once: two would leave open whom the signature is for."""
    value = str(environ.get(name, ""))
    if not value:
        raise exception.Invalid(f"{_NAMES[name]} header is missing from request.")
    if _SEVERAL in value:
        raise exception.Invalid(f"Multiple {_NAMES[name]} headers found within request.")
    return value


class ByAddress:
    """Knows the guests of one host by the addresses that the local network driver gave them.

    An address is looked up each time: a moment later it may be another guest's.

    :param networks: ids of the networks that guests ask through
    """

    def __init__(self, cells: Cells, *, host: str, networks: Sequence[str]) -> None:
        self._cells = cells
        self._host = host
        self._networks = networks

    def of(self, environ: Mapping[str, Any]) -> Asker:
        address = _address(str(environ.get("REMOTE_ADDR", "")))
        with self._cells.of_host(self._host).database.read() as session:
            owners = ports.owners(session, ip=address, host=self._host, network_ids=self._networks)
        if len(owners) != 1:
            raise exception.NotFound(f"{len(owners)} guests of {self._host} have {address}.")
        return Asker(instance_uuid=owners[0], host=self._host)


def _address(text: str) -> str:
    """Return an address as ports have it; where both kinds share a socket, IPv4 comes in IPv6."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError as error:
        raise exception.Invalid("Nobody knows where this request comes from.") from error
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
