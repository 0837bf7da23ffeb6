"""Callers as admission counts them, and how many requests each may have at once.

A caller is a project or, before a token is known, an address. Nothing is proven here: this must be
cheap, as it is asked for every request.
"""

import ipaddress
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_NETWORK: Final = 64  # bits of an IPv6 address that tell one customer from the next


class ApiCaller(NamedTuple):
    """Whose request it is; ``proven``: they have shown who they are, and may have more places."""

    name: str
    proven: bool


class FairShare(NamedTuple):
    """The part of the places that one caller may have, from 0 to 1, by whether it is proven."""

    proven: float
    unproven: float

    def of(self, places: int, caller: ApiCaller) -> int:
        return max(1, int(places * (self.proven if caller.proven else self.unproven)))


class ConcurrencyLimit:
    """Places. Of those that others leave, each caller may have its share: few never have all."""

    def __init__(self, most: int, share: FairShare) -> None:
        self._most = most
        self._share = share
        self._lock = threading.Lock()
        self._of: dict[str, int] = {}
        self.taken = 0

    def take(self, caller: ApiCaller) -> int:
        """Take a place and return 0; or return the status of a refusal."""
        with self._lock:
            has = self._of.get(caller.name, 0)
            if has >= self._share.of(self._most - (self.taken - has), caller):
                return 429
            if self.taken >= self._most:
                return 503
            self._of[caller.name] = has + 1
            self.taken += 1
            return 0

    def give_back(self, caller: ApiCaller) -> None:
        with self._lock:
            self.taken -= 1
            left = self._of.pop(caller.name) - 1
            if left:
                self._of[caller.name] = left


def anonymous_caller(environ: Mapping[str, Any]) -> ApiCaller:
    """Return whose share somebody takes of whom only the address is known.

    Whoever has one IPv6 address has its whole network, so networks are told apart there.
    """
    return ApiCaller(f"address {_network(str(environ.get('REMOTE_ADDR', '')))}", proven=False)


def _network(text: str) -> str:
    if ":" not in text:
        return text
    address = ipaddress.IPv6Address(text.partition("%")[0])
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _NETWORK), strict=False))
