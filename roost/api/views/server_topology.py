"""The NUMA topology of a server as JSON."""

from typing import Any

from roost.objects import InstanceNUMACell, InstanceNUMATopology


def full(topology: InstanceNUMATopology | None, *, sees_host: bool) -> dict[str, Any]:
    """Return the cells of a server; none for one that has no demands of that kind.

    :param sees_host: which cells and CPUs of the host they are on, too
    """
    cells = topology.cells if topology else []
    pages = {cell.page_kb for cell in cells}
    return {
        "nodes": [_node(cell, sees_host=sees_host) for cell in cells],
        "pagesize_kb": pages.pop() if len(pages) == 1 else None,
    }


def _node(cell: InstanceNUMACell, *, sees_host: bool) -> dict[str, Any]:
    cpus = sorted([*cell.cpus, *cell.pcpus])
    told = {"memory_mb": cell.memory_mb, "vcpu_set": cpus, "siblings": []}
    if not sees_host:
        return told
    pinning = {str(cpu): at for cpu, at in zip(cell.pcpus, cell.pinning, strict=False)}
    return {**told, "host_node": cell.host_cell, "cpu_pinning": pinning}
