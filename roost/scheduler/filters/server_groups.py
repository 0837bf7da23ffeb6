"""Filters by server groups with affinity or anti-affinity."""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns
from roost.scheduler.filters import ASK_AGAIN, Filter, Miss, Refusal
from roost.scheduler.request import Request


class ServerGroupAffinityFilter(Filter):
    """Allows only hosts with members of the group, once there are any."""

    name = "server_group_affinity"

    def applies_to(self, request: Request) -> bool:
        group = request.spec.group
        return group is not None and group.policy == "affinity"

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        if not any(request.group_counts.values()):
            return []
        alone = hosts.numbers_at(request.group_counts) == 0
        return [Refusal("no member of the server group is there", alone)]


class ServerGroupAntiAffinityFilter(Filter):
    """Refuses hosts with a member of the group, or as many as the group allows per host."""

    name = "server_group_anti_affinity"

    def applies_to(self, request: Request) -> bool:
        group = request.spec.group
        return group is not None and group.policy == "anti-affinity"

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        group = request.spec.group
        most = (group and group.max_server_per_host) or 1
        full = np.asarray(hosts.numbers_at(request.group_counts) >= most)
        who = "a member" if most == 1 else f"{most} members"
        return [Refusal(f"{who} of the server group there already", full)]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        members = hosts.numbers_at(request.group_counts)
        row = int(members.argmin())
        return Miss(row, f"members of the group there: {members[row]}")
