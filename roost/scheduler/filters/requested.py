"""Hosts that the request names: to be taken, or to be left alone."""

import numpy as np

from roost.scheduler.filters import Refusal
from roost.scheduler.hosts import Hosts, Mask
from roost.scheduler.request import Request, tried_hosts


class RequestedFilter:
    """Keeps to the host, node and cell asked for, and off those to ignore or tried before."""

    name = "requested"
    guards: tuple[str, ...] = ()

    def applies_to(self, request: Request) -> bool:
        spec = request.spec
        named = (spec.requested_host, spec.requested_node, spec.requested_cell)
        unwanted = (spec.ignore_hosts, spec.ignore_cells, tried_hosts(spec))
        return any(named) or any(unwanted)

    def refuse(self, request: Request, hosts: Hosts) -> list[Refusal]:
        spec = request.spec
        wishes = (
            ("cell", spec.requested_cell, "in another cell than requested"),
            ("host", spec.requested_host, "not the requested host"),
            ("node", spec.requested_node, "not the requested node"),
        )
        refusals = [
            Refusal(reason, ~hosts.having(column, name)) for column, name, reason in wishes if name
        ]
        refusals += [
            Refusal("in a cell that is closed", hosts.having("cell", cell))
            for cell in spec.ignore_cells
        ]
        refusals.append(
            Refusal("to be ignored", _any(hosts, [(h, None) for h in spec.ignore_hosts]))
        )
        refusals.append(Refusal("tried before", _any(hosts, tried_hosts(spec))))
        return refusals


def _any(hosts: Hosts, named: list[tuple[str, str | None]]) -> Mask:
    found: Mask = np.zeros(len(hosts), dtype=np.bool_)
    for host, node in named:
        same = hosts.having("host", host)
        found |= same if node is None else same & hosts.having("node", node)
    return found
