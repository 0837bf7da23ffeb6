"""Filters by capabilities of hosts: extra specs of the scope ``capabilities``."""

from collections.abc import Hashable
from typing import Final

import numpy as np

from roost.hardware import spec_language
from roost.objects.report_parts import CAPABILITIES
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
    reads = (CAPABILITIES,)

    def applies_to(self, request: Request) -> bool:
        return bool(spec_language.scoped(request.extra_specs(), _SCOPE))

    def key(self, request: Request) -> Hashable:
        return spec_language.scoped(request.extra_specs(), _SCOPE)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        scoped = spec_language.scoped(request.extra_specs(), _SCOPE)
        reported = sorted({name for name, _ in scoped} - _VALUES.keys())
        return [
            *(Refusal(f"does not report {name}", _lacking(hosts, name)) for name in reported),
            *(
                Refusal(f"{name} is not {wanted}", _other(hosts, name, spec_language.parse(wanted)))
                for name, wanted in scoped
            ),
        ]


def _lacking(hosts: Columns, name: str) -> Mask:
    return hosts.by_profile(lambda profile: name not in profile.capabilities)


def _other(hosts: Columns, name: str, test: spec_language.Test) -> Mask:
    """Return which hosts have a value that the test refuses."""
    if name not in _VALUES:
        return hosts.by_profile(
            lambda profile: name in profile.capabilities and not test(profile.capabilities[name])
        )
    values, where = np.unique(_VALUES[name](hosts), return_inverse=True)
    refused = np.array([not test(str(value)) for value in values.tolist()], dtype=np.bool_)
    found: Mask = refused[where]
    return found
