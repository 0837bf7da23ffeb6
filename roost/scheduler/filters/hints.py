"""Filters by scheduler hints: hosts with or without certain instances or addresses."""

import functools
import ipaddress
from collections.abc import Hashable, Iterable
from typing import Final

import numpy as np

from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import ASK_AGAIN, AnyFilter, Filter, Refusal
from roost.scheduler.request import Request

_CIDR: Final = "/24"
# Scheduler hints, and the filters that read them, if they are in use.
_READERS: Final = {
    "same_host": "same_host",
    "different_host": "different_host",
    "build_near_host_ip": "simple_cidr_affinity",
    "query": "json",
}
_NO_NUMBER: Final = (0, 0)
_NOWHERE: Final = "none of the instances of same_host is on a host"


class SameHostFilter(Filter):
    """Allows only the hosts of the instances in the hint ``same_host``."""

    name = "same_host"
    hints = ("same_host",)

    def applies_to(self, request: Request) -> bool:
        return "same_host" in request.spec.hints

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        there = _rows_of(request, request.hint("same_host"))
        reason = "not the host of an instance of same_host" if there else _NOWHERE
        return [Refusal(reason, ~_at(hosts, there))]


class DifferentHostFilter(Filter):
    """Refuses the hosts of the instances in the hint ``different_host``."""

    name = "different_host"
    hints = ("different_host",)

    def applies_to(self, request: Request) -> bool:
        return "different_host" in request.spec.hints

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        there = _rows_of(request, request.hint("different_host"))
        return [Refusal("the host of an instance of different_host", _at(hosts, there))]


class SimpleCidrAffinityFilter(Filter):
    """Allows only hosts with an address near that of the hint ``build_near_host_ip``.

    The hint ``cidr``, such as /28, gives the size of the network.
    """

    name = "simple_cidr_affinity"
    hints = ("build_near_host_ip",)

    def applies_to(self, request: Request) -> bool:
        return "build_near_host_ip" in request.spec.hints

    def key(self, request: Request) -> Hashable:
        return _neighbourhood(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        text = _neighbourhood(request)
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            return [Refusal(f"{text} is no network", np.ones(len(hosts), dtype=np.bool_))]
        lowest, highest = map(_number, (network.network_address, network.broadcast_address))
        numbers = (_number_of(text) for text in hosts.host_ip)
        near = np.array([lowest <= number <= highest for number in numbers], dtype=np.bool_)
        return [Refusal(f"not in {network}", ~near)]


class UnreadHints(Filter):
    """Refuses all hosts for requests with a known hint that no filter in use reads.

    Unknown hints are ignored: they may be for other clouds.
    """

    name = "hints"

    def __init__(self, filters: Iterable[AnyFilter]) -> None:
        read = {hint for one in filters for hint in getattr(one, "hints", ())}
        self._unread = {hint: name for hint, name in _READERS.items() if hint not in read}

    def applies_to(self, request: Request) -> bool:
        return any(hint in request.spec.hints for hint in self._unread)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        every: Mask = np.ones(len(hosts), dtype=np.bool_)
        return [
            Refusal(f"the hint {hint} has no effect here: the filter {name} is not in use", every)
            for hint, name in self._unread.items()
            if hint in request.spec.hints
        ]


def _rows_of(request: Request, uuids: Iterable[str]) -> list[int]:
    return [row for uuid in uuids for row in request.rows_of.get(uuid, ())]


def _at(hosts: Columns, rows: Iterable[int]) -> Mask:
    found: Mask = hosts.numbers_at(dict.fromkeys(rows, 1)) > 0
    return found


def _neighbourhood(request: Request) -> str:
    near = "".join(request.hint("build_near_host_ip")[:1])
    width = "".join(request.hint("cidr")[:1]) or _CIDR
    return f"{near}/{width.removeprefix('/')}"


def _number(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[int, int]:
    """Return the position of an address in the order of all addresses."""
    return address.version, int(address)


@functools.lru_cache(maxsize=131072)
def _number_of(text: str | None) -> tuple[int, int]:
    try:
        return _number(ipaddress.ip_address(text or ""))
    except ValueError:
        return _NO_NUMBER
