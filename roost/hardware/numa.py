"""The NUMA cells of a new server, from flavor and image, as the scheduler places them.

A server has cells when flavor or image request cells, dedicated CPUs or a size of memory pages.
Otherwise it has none, and floats over all of its host.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from oslo_utils import strutils

from roost import exception
from roost.hardware.properties import HardwareProperties, choice
from roost.objects import Flavor, ImageMeta, InstanceNUMACell, InstanceNUMATopology

_SHARED: Final = "shared"
_DEDICATED: Final = "dedicated"
_MIXED: Final = "mixed"
_THREAD_POLICIES: Final = ("prefer", "isolate", "require")
_RANGE: Final = re.compile(r"(\^?)\s*(\d{1,5})(?:\s*-\s*(\d{1,5}))?")
_PAGES_BY_NAME: Final = ("small", "large", "any")


def numa_topology_of(flavor: Flavor, image: ImageMeta | None) -> InstanceNUMATopology | None:
    """Return the cells that a server is to have, if any.

    :raises roost.exception.Invalid: for contradictory or impossible requests
    """
    properties = HardwareProperties(flavor, image)
    policy = _cpu_policy(properties, flavor)
    threads = _thread_policy(properties, policy)
    _check_emulator(properties, policy)
    pinned = _pinned(properties, policy, flavor.vcpus)
    page_size = _page_size(properties)
    nodes = _nodes(properties)
    if nodes is None and policy == _SHARED and page_size is None:
        return None
    cells = [
        InstanceNUMACell.of(
            id=number,
            cpus=sorted(cpus - pinned),
            pcpus=sorted(cpus & pinned),
            memory_mb=memory_mb,
            page_size=page_size,
        )
        for number, (cpus, memory_mb) in enumerate(_shares(properties, flavor, nodes or 1))
    ]
    _check_pages(cells)
    return InstanceNUMATopology.of(cells=cells, cpu_policy=policy, cpu_thread_policy=threads)


# CPUs


def _cpu_policy(properties: HardwareProperties, flavor: Flavor) -> str:
    asked = properties.one_of("cpu_policy", (_SHARED, _DEDICATED, _MIXED), called="CPU policy")
    by_resources = _policy_by_resources(flavor)
    if asked and by_resources and asked != by_resources:
        raise exception.Invalid(
            f"The flavor asks for CPUs twice: hw:cpu_policy is '{asked}', but its resources:"
            f" extra specs mean '{by_resources}'"
        )
    return asked or by_resources or _SHARED


def _policy_by_resources(flavor: Flavor) -> str | None:
    """Read ``resources:PCPU`` and ``resources:VCPU``; one of them may set the kind of all CPUs.

    Other than dedicated CPUs, shared ones may be counted as fewer or more than the guest has.
    """
    classes = {"resources:PCPU": _DEDICATED, "resources:VCPU": _SHARED}
    said = {name: flavor.extra_specs.get(name, "0").strip() for name in classes}
    found = {name: number for name, number in said.items() if number != "0"}
    if len(found) > 1:
        raise exception.Invalid(
            "It is not possible to request PCPU and VCPU resources in the same instance; use"
            " hw:cpu_policy=mixed."
        )
    for name, number in found.items():
        if classes[name] == _DEDICATED and number != str(flavor.vcpus):
            raise exception.Invalid(
                f"{name} is '{number}', but must be the number of the flavor's vCPUs,"
                f" {flavor.vcpus}"
            )
        return classes[name]
    return None


def _thread_policy(properties: HardwareProperties, policy: str) -> str:
    threads = properties.one_of("cpu_thread_policy", _THREAD_POLICIES, called="CPU thread policy")
    if threads and policy == _SHARED:
        raise exception.Invalid(
            "hw:cpu_thread_policy is only permitted with hw:cpu_policy dedicated or mixed"
        )
    return threads or "prefer"


def _check_emulator(properties: HardwareProperties, policy: str) -> None:
    """Allow a policy for emulator threads only where the server has dedicated CPUs."""
    name = "emulator_threads_policy"
    asked = choice(f"hw:{name}", properties.flavor_value(name), ("isolate", "share"))
    if asked and policy == _SHARED:
        raise exception.Invalid(
            f"hw:{name} is only permitted with hw:cpu_policy dedicated or mixed"
        )


def _pinned(properties: HardwareProperties, policy: str, vcpus: int) -> set[int]:
    """Return which of the server's CPUs are pinned to dedicated CPUs of the host."""
    mask = properties.flavor_value("cpu_dedicated_mask")
    everything = set(range(vcpus))
    if policy != _MIXED:
        if mask is not None:
            raise exception.Invalid(
                "hw:cpu_dedicated_mask is only permitted with hw:cpu_policy mixed"
            )
        return everything if policy == _DEDICATED else set()
    if mask is None:
        raise exception.Invalid("hw:cpu_policy mixed needs hw:cpu_dedicated_mask")
    whole = f"0-{vcpus - 1},{mask}" if mask.startswith("^") else mask
    pinned = _cpus("hw:cpu_dedicated_mask", whole, vcpus)
    if not pinned or pinned == everything:
        raise exception.Invalid(
            "Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU. See"
            " 'hw:cpu_dedicated_mask'."
        )
    return pinned


def _cpus(name: str, text: str, vcpus: int) -> set[int]:
    """Parse a set of CPUs such as ``0-3,^2``."""
    wanted: set[int] = set()
    unwanted: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise exception.Invalid(f"{name} is not a set of CPUs such as 0-3,^2: '{text}'")
        first, last = int(match[2]), int(match[3] or match[2])
        if last >= vcpus:
            raise exception.Invalid(f"CPU number {last} is larger than max {vcpus - 1}")
        (unwanted if match[1] else wanted).update(range(first, last + 1))
    return wanted - unwanted


# Cells


def _nodes(properties: HardwareProperties) -> int | None:
    asked = properties.value("numa_nodes")
    if asked is None:
        for name in ("numa_cpus", "numa_mem"):
            if properties.numbered(name):
                raise exception.Invalid(f"hw:{name}.N needs hw:numa_nodes")
        return None
    if not (asked.isascii() and asked.isdigit() and int(asked) > 0):
        raise exception.Invalid(
            f"The property 'numa_nodes' cannot be '{asked}'. It must be a number greater than 0"
        )
    return int(asked)


def _shares(
    properties: HardwareProperties, flavor: Flavor, nodes: int
) -> list[tuple[set[int], int]]:
    """Return CPUs and MiB of memory of each cell."""
    cpus, memory = properties.numbered("numa_cpus"), properties.numbered("numa_mem")
    if cpus or memory:
        if not set(cpus) == set(memory) == set(range(nodes)):
            raise exception.Invalid("CPU and memory allocation must be provided for all NUMA nodes")
        return _said_shares(cpus, memory, flavor)
    if flavor.vcpus % nodes or flavor.memory_mb % nodes:
        raise exception.Invalid(
            "Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes."
            " Explicit assignment of CPUs and memory to nodes is required"
        )
    many = flavor.vcpus // nodes
    return [
        (set(range(node * many, node * many + many)), flavor.memory_mb // nodes)
        for node in range(nodes)
    ]


def _said_shares(
    cpus: Mapping[int, str], memory: Mapping[int, str], flavor: Flavor
) -> list[tuple[set[int], int]]:
    shares = []
    left = set(range(flavor.vcpus))
    for node in sorted(cpus):
        here = _cpus(f"hw:numa_cpus.{node}", cpus[node], flavor.vcpus)
        if here - left:
            raise exception.Invalid(f"CPU number {min(here - left)} is assigned to two nodes")
        left -= here
        shares.append((here, _megabytes(node, memory[node])))
    if left:
        numbers = ", ".join(map(str, sorted(left)))
        raise exception.Invalid(f"CPU number {numbers} is not assigned to any node")
    total = sum(memory_mb for _, memory_mb in shares)
    if total != flavor.memory_mb:
        raise exception.Invalid(
            f"{total} MB of memory assigned, but expected {flavor.memory_mb} MB"
        )
    return shares


def _megabytes(node: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise exception.Invalid(f"hw:numa_mem.{node} is not a number of MB: '{text}'")
    return int(text)


# Pages


def _page_size(properties: HardwareProperties) -> str | None:
    """Return a page size: by name, or KiB as digits.

    Huge pages are scarce, so an image may only choose among the sizes that its flavor allows.
    """
    flavor, image = (
        properties.flavor_value("mem_page_size"),
        properties.image_value("mem_page_size"),
    )
    asked = None if flavor is None else _parse_size(flavor)
    if image is None:
        return asked
    chosen = _parse_size(image)
    if asked not in ("large", "any"):
        raise exception.Invalid(f"Page size {image} forbidden against '{flavor or '<empty>'}'")
    return chosen


def _parse_size(text: str) -> str:
    if text.lower() in _PAGES_BY_NAME:
        return text.lower()
    try:
        digits = text.isascii() and text.isdigit()
        size = int(text) if digits else strutils.string_to_bytes(text, return_int=True) // 1024
    except ValueError:
        size = 0
    if size <= 0:
        raise exception.Invalid(f"Invalid memory page size '{text}'")
    return str(size)


def _check_pages(cells: Sequence[InstanceNUMACell]) -> None:
    """Refuse memory that is not a multiple of the page size."""
    for cell in cells:
        size = cell.page_size
        if size and size.isdigit() and cell.memory_mb * 1024 % int(size):
            raise exception.Invalid(
                f"{cell.memory_mb} MB of memory in NUMA node {cell.id} is not a multiple of"
                f" the page size, {size} KiB"
            )
