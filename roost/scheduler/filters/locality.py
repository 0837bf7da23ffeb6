"""Filter by locality labels: hosts that reach the volumes and networks of a request."""

from collections.abc import Hashable
from typing import Final, NamedTuple

import numpy as np

from roost.objects.report_parts import LABELS
from roost.objects.request import HOST, ZONE
from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Refusal, RequirementsFilter
from roost.scheduler.request import Request

_LABELS: Final = "labels"
_COLUMNS: Final = (HOST, ZONE)


class LocalityFilter(RequirementsFilter):
    """Allows only hosts with every label that the request requires."""

    name = "locality"
    reads = (LABELS,)

    def applies_to(self, request: Request) -> bool:
        return any(each.hard for each in request.spec.locality)

    def key(self, request: Request) -> Hashable:
        return choices_of(request, hard=True)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"not at {' or '.join(one.labels)}", ~one.met_by(hosts))
            for one in choices_of(request, hard=True)
        ]


class LabelChoice(NamedTuple):
    """Labels of which a host has one; ``if_known``: or none of the same keys."""

    labels: tuple[str, ...]
    if_known: bool

    def met_by(self, hosts: Columns) -> Mask:
        """Return which hosts have one of the labels."""
        found: Mask = np.any([_labelled(hosts, label) for label in self.labels], axis=0)
        if self.if_known:
            keys = {f"{label.partition('=')[0]}=" for label in self.labels}
            found |= ~np.any([_known(hosts, key) for key in keys], axis=0)
        return found


def _known(hosts: Columns, key: str) -> Mask:
    """Return which hosts have any label that begins with ``key``."""
    found = hosts.by_profile(lambda profile: any(one.startswith(key) for one in profile.labels))
    if hosts.shared.says(_LABELS):
        found = found | hosts.by_membership(
            lambda m: any(one.startswith(key) for one in m.listed(_LABELS))
        )
    return found


def choices_of(request: Request, *, hard: bool) -> tuple[LabelChoice, ...]:
    """Return the labels that hosts must have, or should have, in order."""
    found = {
        LabelChoice((each.label, *each.alternatives), each.if_known)
        for each in request.spec.locality
        if each.hard is hard
    }
    return tuple(sorted(found))


def _labelled(hosts: Columns, label: str) -> Mask:
    """Return which hosts have a label, by their reports or by metadata ``labels`` of aggregates."""
    key, _, value = label.partition("=")
    if key in _COLUMNS:
        return hosts.having(key, value)
    found = hosts.by_profile(lambda profile: label in profile.labels)
    if hosts.shared.says(_LABELS):
        found = found | hosts.by_membership(lambda m: label in m.listed(_LABELS))
    return found
