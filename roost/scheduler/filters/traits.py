"""Filters by traits: standard names of features that hosts have."""

import functools
from collections.abc import Hashable
from typing import Final, NamedTuple

import numpy as np

from roost.hardware import spec_language, traits
from roost.scheduler.columns import Columns, Mask, Membership, Profile
from roost.scheduler.filters import Filter, Refusal, RequirementsFilter
from roost.scheduler.request import Request

_PREFIX: Final = traits.PREFIX


class _Asked(NamedTuple):
    """Traits in order of name; ``unclear`` are those with any other value."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...]
    unclear: tuple[str, ...]


class TraitsFilter(RequirementsFilter):
    """Allows only hosts with all required traits and without those that are forbidden.

    The request, flavor and image name them. Hardware of the guest implies required traits, too.
    """

    name = "traits"

    def applies_to(self, request: Request) -> bool:
        return _asked(request) is not _NONE

    def key(self, request: Request) -> Hashable:
        return _asked(request), bool(request.resources)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        asked = _asked(request)
        refusals = [
            Refusal(f"lacks the trait {trait}", _lacking(trait, request, hosts))
            for trait in asked.required
        ]
        refusals += [
            Refusal(f"has the trait {trait}", hosts.by_profile(functools.partial(_has, trait)))
            for trait in asked.forbidden
        ]
        refusals += [
            Refusal(
                f"the trait {trait} must be required or forbidden",
                hosts.by_profile(lambda _profile: True),
            )
            for trait in asked.unclear
        ]
        return refusals


class IsolatedAggregatesFilter(Filter):
    """Reserves hosts of aggregates with ``trait:X=required`` for requests that require X."""

    name = "isolated_aggregates"

    def key(self, request: Request) -> Hashable:
        return _asked(request).required

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        required = frozenset(_asked(request).required)

        def keeps_out(membership: Membership) -> bool:
            return not required.issuperset(_required_by(membership))

        return [
            Refusal("reserved for other traits by its aggregates", hosts.by_membership(keeps_out))
        ]


def _asked(request: Request) -> _Asked:
    spec, properties, specs = request.spec, request.image_properties(), request.extra_specs()
    if not (properties or specs or spec.required_traits or spec.forbidden_traits):
        return _NONE
    named = [(f"{_PREFIX}{trait}", "required") for trait in spec.required_traits]
    named += [(f"{_PREFIX}{trait}", "forbidden") for trait in spec.forbidden_traits]
    return _read((*properties.items(), *specs.items(), *named))


@functools.lru_cache(maxsize=4096)
def _read(items: spec_language.Items) -> _Asked:
    said = traits.named_by(items)
    required = traits.required_by(items)
    if not said and not required:
        return _NONE
    return _Asked(
        required=required,
        forbidden=traits.forbidden_by(items),
        unclear=tuple(
            sorted({name.removeprefix(_PREFIX) for name, text in said if text not in traits.VALUES})
        ),
    )


def _lacking(trait: str, request: Request, hosts: Columns) -> Mask:
    """Return which hosts lack a trait.

    A part of the host may have it, if the request needs resource classes: their filter makes sure
    that one of its parts does.
    """
    lacking = ~hosts.by_profile(functools.partial(_has, trait))
    if request.resources:
        for row in np.flatnonzero(lacking).tolist():
            has = hosts.topology[row]
            lacking[row] = has is None or not any(trait in one.traits for one in has.providers)
    return lacking


def _has(trait: str, profile: Profile) -> bool:
    return trait in profile.traits


def _required_by(membership: Membership) -> set[str]:
    return {
        name.removeprefix(_PREFIX)
        for name in membership.names()
        if name.startswith(_PREFIX) and "required" in membership.listed(name)
    }


_NONE: Final = _Asked((), (), ())
