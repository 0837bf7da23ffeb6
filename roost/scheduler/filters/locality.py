"""Filter by locality labels: hosts that reach the volumes and networks of a request."""

from collections.abc import Hashable
from typing import Final

from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Refusal, RequirementsFilter
from roost.scheduler.request import Request

_LABELS: Final = "labels"


class LocalityFilter(RequirementsFilter):
    """Allows only hosts with every label that the request requires."""

    name = "locality"

    def applies_to(self, request: Request) -> bool:
        return any(each.hard for each in request.spec.locality)

    def key(self, request: Request) -> Hashable:
        return labels_of(request, hard=True)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"not at {label}", ~labelled(hosts, label))
            for label in labels_of(request, hard=True)
        ]


def labels_of(request: Request, *, hard: bool) -> tuple[str, ...]:
    """Return the labels that hosts must have, or should have, in order."""
    return tuple(sorted({each.label for each in request.spec.locality if each.hard is hard}))


def labelled(hosts: Columns, label: str) -> Mask:
    """Return which hosts have a label, by their reports or by metadata ``labels`` of aggregates."""
    found = hosts.by_profile(lambda profile: label in profile.labels)
    if hosts.shared.says(_LABELS):
        found = found | hosts.by_membership(lambda m: label in m.listed(_LABELS))
    return found
