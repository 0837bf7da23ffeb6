"""Places that hosts should be at or reach."""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns, Floats
from roost.scheduler.filters.locality import labelled, labels_of
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class LocalityWeigher(Weigher):
    """Prefers hosts with many of the labels that the request would like."""

    name = "locality"

    def applies_to(self, request: Request) -> bool:
        return any(not wish.hard for wish in request.spec.locality)

    def key(self, request: Request) -> Hashable:
        return labels_of(request, hard=False)

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        labels = labels_of(request, hard=False)
        found = np.sum([labelled(hosts, label) for label in labels], axis=0)
        weights: Floats = found / len(labels)
        return weights
