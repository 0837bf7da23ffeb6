"""PCI devices of a host: those that meet a request, and their allocation to several requests."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from roost.objects import PciPool, PciRequest

_PF = "type-PF"


class PoolKey(NamedTuple):
    """The properties that devices of one pool share; ``numa_node`` None: not known."""

    vendor_id: str
    product_id: str
    dev_type: str
    numa_node: int | None
    tags: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, pool: PciPool) -> Self:
        return cls(
            vendor_id=pool.vendor_id,
            product_id=pool.product_id,
            dev_type=pool.dev_type,
            numa_node=pool.numa_node,
            tags=tuple(sorted(pool.tags.items())),
        )


class FreePool(NamedTuple):
    """The number of free devices of one kind."""

    kind: PoolKey
    free: int


class HeldDevices(NamedTuple):
    """A number of devices of one kind, held for the request of this alias."""

    alias: str
    number: int
    kind: PoolKey


class DeviceRequest(NamedTuple):
    """A request for devices, and the indices of the pools that have such."""

    alias: str
    number: int
    policy: str
    pools: Sequence[int]


class Near(NamedTuple):
    """The ``cells`` of an instance, and the NUMA nodes whose devices each policy allows.

    None among the nodes: devices whose node is not known; None instead of them: any node.
    """

    cells: frozenset[int]
    nodes: Mapping[str, frozenset[int | None] | None]

    def allows(self, policy: str, node: int | None) -> bool:
        nodes = self.nodes[policy]
        return nodes is None or node in nodes


class Lack(NamedTuple):
    """The request that got too few devices."""

    alias: str


def pools_of(pools: Sequence[PciPool]) -> tuple[FreePool, ...]:
    """Return the devices of a host, all free; pools of one kind are merged."""
    counts: dict[PoolKey, int] = {}
    for pool in pools:
        kind = PoolKey.of(pool)
        counts[kind] = counts.get(kind, 0) + pool.count
    return tuple(FreePool(kind, count) for kind, count in counts.items() if count)


def recount(
    pools: tuple[FreePool, ...], held: Sequence[HeldDevices], *, sign: int
) -> tuple[FreePool, ...]:
    """Return the pools with held devices added (``sign`` 1) or subtracted (-1)."""
    if not held:
        return pools
    changes: dict[PoolKey, int] = {}
    for devices in held:
        changes[devices.kind] = changes.get(devices.kind, 0) + sign * devices.number
    return tuple(FreePool(kind, free + changes.get(kind, 0)) for kind, free in pools)


def device_requests_of(
    requests: Sequence[PciRequest], pools: Sequence[FreePool]
) -> list[DeviceRequest]:
    """Return the requests with the pools that meet them."""
    return [
        DeviceRequest(
            request.alias, request.count, request.numa_policy, _meeting(request.specs, pools)
        )
        for request in requests
    ]


def hand_out(
    requests: Sequence[DeviceRequest], pools: Sequence[FreePool], near: Near | None
) -> tuple[HeldDevices, ...] | Lack:
    """Allocate devices to all requests, those of the instance's NUMA cells first.

    An allocation is found if one exists. ``near`` is None for an instance without NUMA cells: then
    the NUMA policies do not matter.
    """
    sharing = _Sharing([pool.free for pool in pools])
    for device_request in requests:
        if not sharing.give(device_request.number, _usable(device_request, pools, near)):
            return Lack(device_request.alias)
    return tuple(
        HeldDevices(device_request.alias, number, pools[place].kind)
        for device_request, given in zip(requests, sharing.given, strict=True)
        for place, number in sorted(given.items())
        if number
    )


class _Sharing:
    """Allocates devices of several pools to several requests, with reallocation where needed."""

    def __init__(self, free: list[int]) -> None:
        self._free = free
        self._usable: list[Sequence[int]] = []
        self.given: list[dict[int, int]] = []

    def give(self, number: int, usable: Sequence[int]) -> bool:
        """Allocate devices of these pools to a further request, of the first ones if possible."""
        self._usable.append(usable)
        self.given.append({})
        device_request = len(self.given) - 1
        for pool in usable:
            taken = min(number, self._free[pool])
            self._move(device_request, pool, taken)
            number -= taken
        return all(self._give_one(device_request, set()) for _ in range(number))

    def _give_one(self, device_request: int, seen: set[int]) -> bool:
        """Allocate one more device, if needed by moving another request to another pool."""
        for pool in self._usable[device_request]:
            if pool in seen:
                continue
            seen.add(pool)
            if self._free[pool] or self._vacate(pool, seen):
                self._move(device_request, pool, 1)
                return True
        return False

    def _vacate(self, pool: int, seen: set[int]) -> bool:
        for other, given in enumerate(self.given):
            if given.get(pool) and self._give_one(other, seen):
                self._move(other, pool, -1)
                return True
        return False

    def _move(self, device_request: int, pool: int, number: int) -> None:
        if number:
            given = self.given[device_request]
            given[pool] = given.get(pool, 0) + number
            self._free[pool] -= number


def _usable(
    device_request: DeviceRequest, pools: Sequence[FreePool], near: Near | None
) -> Sequence[int]:
    """Return the indices of the pools that a request may use, the nearest first."""
    if near is None:
        return device_request.pools
    nodes = {place: pools[place].kind.numa_node for place in device_request.pools}
    usable = [place for place, node in nodes.items() if near.allows(device_request.policy, node)]
    if len(usable) > 1:
        usable.sort(key=lambda place: (nodes[place] not in near.cells, nodes[place] is not None))
    return usable


def _meeting(specs: Sequence[Mapping[str, str]], pools: Sequence[FreePool]) -> list[int]:
    """Return the indices of the pools that have free devices of one of these specs.

    A physical function meets only requests for one, since its virtual functions are lost with it.
    """
    return [
        place
        for place, (kind, free) in enumerate(pools)
        if free > 0 and any(_meets(kind, spec) for spec in specs)
    ]


def _meets(kind: PoolKey, spec: Mapping[str, str]) -> bool:
    if kind.dev_type == _PF and spec.get("dev_type") != _PF:
        return False
    return all(_says(kind, name, value) for name, value in spec.items())


def _says(kind: PoolKey, name: str, value: str) -> bool:
    if name == "dev_type":
        return kind.dev_type == value
    if name in ("vendor_id", "product_id"):  # hexadecimal numbers
        return str(getattr(kind, name)).lower() == value.lower()
    return (name, value) in kind.tags
