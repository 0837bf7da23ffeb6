"""Filters by capabilities of hosts: extra specs of the scope ``capabilities``."""

from collections.abc import Hashable
from typing import Final

import numpy as np

from roost.hardware import spec_language
from roost.scheduler import host_values
from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Refusal, RequirementsFilter
from roost.scheduler.request import Request

_SCOPE: Final = "capabilities"
_VALUES: Final = {**host_values.NUMBERS, **host_values.TEXTS}


class ComputeCapabilitiesFilter(RequirementsFilter):
    """Checks extra specs against :mod:`roost.scheduler.host_values` and reported capabilities."""

    name = "compute_capabilities"
    by_usage = True

    def applies_to(self, request: Request) -> bool:
        return bool(spec_language.scoped(request.extra_specs(), _SCOPE))

    def key(self, request: Request) -> Hashable:
        return spec_language.scoped(request.extra_specs(), _SCOPE)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"{name} is not {wanted}", ~_capable(hosts, name, spec_language.parse(wanted)))
            for name, wanted in spec_language.scoped(request.extra_specs(), _SCOPE)
        ]


def _capable(hosts: Columns, name: str, test: spec_language.Test) -> Mask:
    if name not in _VALUES:
        return hosts.by_profile(
            lambda profile: name in profile.capabilities and test(profile.capabilities[name])
        )
    values, where = np.unique(_VALUES[name](hosts), return_inverse=True)
    passed = np.array([test(str(value)) for value in values.tolist()], dtype=np.bool_)
    found: Mask = passed[where]
    return found
