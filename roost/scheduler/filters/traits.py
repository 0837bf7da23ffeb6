"""Traits: what hosts have or have not, by names that everybody agreed on."""

import functools
from collections.abc import Hashable
from typing import Final, NamedTuple

from roost.scheduler import extra_specs
from roost.scheduler.columns import Columns, Membership, Profile
from roost.scheduler.filters import Filter, Refusal
from roost.scheduler.filters.demands import DemandsFilter
from roost.scheduler.request import Request

_SCOPE: Final = "trait"
_PREFIX: Final = "trait:"


class _Asked(NamedTuple):
    """Traits in order of name; ``unclear`` are those with some other word."""

    required: tuple[str, ...]
    forbidden: tuple[str, ...]
    unclear: tuple[str, ...]


class TraitsFilter(DemandsFilter):
    """Keeps to hosts with the traits that flavor and image require and none that they forbid."""

    name = "traits"

    def applies_to(self, request: Request) -> bool:
        return _asked(request) is not _NONE

    def key(self, request: Request) -> Hashable:
        return _asked(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        asked = _asked(request)
        refusals = [
            Refusal(f"lacks the trait {trait}", ~hosts.by_profile(functools.partial(_has, trait)))
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
    """Keeps hosts of aggregates with ``trait:X=required`` for requests that require X, too."""

    name = "isolated_aggregates"

    def key(self, request: Request) -> Hashable:
        return _asked(request).required

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        required = frozenset(_asked(request).required)

        def keeps_out(membership: Membership) -> bool:
            return not required.issuperset(_required_by(membership))

        return [Refusal("kept for other traits by its aggregates", hosts.by_membership(keeps_out))]


def _asked(request: Request) -> _Asked:
    by_image = extra_specs.scoped(request.image_properties(), _SCOPE)
    by_flavor = extra_specs.scoped(request.extra_specs(), _SCOPE)
    return _sorted(by_image + by_flavor) if by_image or by_flavor else _NONE


@functools.lru_cache(maxsize=4096)
def _sorted(said: extra_specs.Items) -> _Asked:
    return _Asked(
        required=_such(said, "required"),
        forbidden=_such(said, "forbidden"),
        unclear=tuple(sorted({t for t, word in said if word not in ("required", "forbidden")})),
    )


def _such(said: extra_specs.Items, wanted: str) -> tuple[str, ...]:
    return tuple(sorted({trait for trait, word in said if word == wanted}))


def _has(trait: str, profile: Profile) -> bool:
    return trait in profile.traits


def _required_by(membership: Membership) -> set[str]:
    return {
        name.removeprefix(_PREFIX)
        for name in membership.names()
        if name.startswith(_PREFIX) and "required" in membership.listed(name)
    }


_NONE: Final = _Asked((), (), ())
