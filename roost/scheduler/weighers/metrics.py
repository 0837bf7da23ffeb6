"""Weigher by metrics of hosts, with ratios that the operator configures."""

from collections.abc import Hashable, Mapping
from typing import Any, Final, Self

import numpy as np

from roost import exception
from roost.objects.report_parts import metric
from roost.scheduler.columns import Columns, Floats
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher

_MUCH: Final = 1e12  # in place of what is more


class MetricsWeigher(Weigher):
    """Weighs the sum of metrics times their ratios; a sum of 1 gives 0.5.

    :param ratios: by metric; a negative one prefers lower values
    :param required: whether a host that lacks a metric gets -1; otherwise the metric counts as 0
    """

    name = "metrics"

    def __init__(self, ratios: Mapping[str, float] | None = None, *, required: bool = True) -> None:
        self._ratios = dict(ratios or {})
        self.reads = [metric(each) for each in self._ratios]
        self._required = required

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(ratios_of(options), required=options.metrics_required)

    def applies_to(self, request: Request) -> bool:
        return bool(self._ratios)

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        total = np.zeros(len(hosts))
        missing = np.zeros(len(hosts), dtype=np.bool_)
        for name, ratio in self._ratios.items():
            measured = hosts.metric(name)
            missing |= np.isnan(measured)
            total += np.clip(np.nan_to_num(measured), -_MUCH, _MUCH) * ratio
        weights: Floats = total / (1 + np.abs(total))
        return np.where(missing, -1.0, weights) if self._required else weights


def ratios_of(options: Any) -> dict[str, float]:
    """Read ``metrics_weights``: ``name=ratio``; the default ratio is 1.

    :raises roost.exception.Invalid: when a ratio is not a number
    """
    ratios = {}
    for text in options.metrics_weights:
        name, _, ratio = text.partition("=")
        try:
            ratios[name.strip()] = float(ratio or 1.0)
        except ValueError as error:
            raise exception.Invalid(
                f"[scheduler] metrics_weights: {text!r} must be a name, =, and a number"
            ) from error
    return ratios
