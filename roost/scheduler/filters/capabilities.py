"""What hosts are capable of, against extra specs of the scope ``capabilities``."""

from collections.abc import Hashable
from typing import Final

import numpy as np

from roost.scheduler import extra_specs, host_values
from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Refusal
from roost.scheduler.filters.demands import DemandsFilter
from roost.scheduler.request import Request

_SCOPE: Final = "capabilities"
_VALUES: Final = {**host_values.NUMBERS, **host_values.TEXTS}


class ComputeCapabilitiesFilter(DemandsFilter):
    """Holds extra specs against :mod:`roost.scheduler.host_values` and what hosts report else."""

    name = "compute_capabilities"
    by_usage = True

    def applies_to(self, request: Request) -> bool:
        return bool(extra_specs.scoped(request.extra_specs(), _SCOPE))

    def key(self, request: Request) -> Hashable:
        return extra_specs.scoped(request.extra_specs(), _SCOPE)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"{name} is not {wanted}", ~_capable(hosts, name, extra_specs.parse(wanted)))
            for name, wanted in extra_specs.scoped(request.extra_specs(), _SCOPE)
        ]


def _capable(hosts: Columns, name: str, test: extra_specs.Test) -> Mask:
    if name not in _VALUES:
        return hosts.by_profile(
            lambda profile: name in profile.capabilities and test(profile.capabilities[name])
        )
    values, where = np.unique(_VALUES[name](hosts), return_inverse=True)
    passed = np.array([test(str(value)) for value in values.tolist()], dtype=np.bool_)
    found: Mask = passed[where]
    return found
