"""Says to users and operators why no host was found."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from roost import exception
from roost.objects import FilterVerdict, NearMiss
from roost.scheduler.decision import Decision, Refusals, Verdict
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request

_NOBODY: Final = "no host is known"


def no_valid_host(request: Request, decision: Decision, *, hosts: Hosts) -> exception.NoValidHost:
    """Make the error of a decision that found no place: it carries what every filter said."""
    found = verdicts(decision.verdicts, hosts)
    return exception.NoValidHost(
        sentence(decision.refusals, wanted=request.unplaced, fitting=decision.fitting),
        uncounted=uncounted(decision.refusals, wanted=request.unplaced),
        asked={verdict.filter: verdict.asked for verdict in found},
        refusals=decision.refusals,
        nearest={each.filter: each.nearest.values() for each in found if each.nearest},
    )


def verdicts(found: Sequence[Verdict], hosts: Hosts) -> list[FilterVerdict]:
    """Return verdicts as others are told of them."""
    return [
        FilterVerdict.of(
            filter=each.filter,
            asked=each.asked,
            reasons=each.reasons,
            nearest=_near_miss(each, hosts),
        )
        for each in found
    ]


def sentence(refusals: Refusals, *, wanted: int = 1, fitting: int = 0) -> str:
    """Say what stood against it, the commonest reason first.

    >>> sentence({"ram": {"not enough memory": 4}, "enabled": {"disabled": 2}})
    'No valid host was found: 4 hosts: not enough memory; 2: disabled'
    """
    room = f" (there is room for {fitting} of {wanted})" if fitting else ""
    return f"No valid host was found{room}: {_counted(refusals)}"


def uncounted(refusals: Refusals, *, wanted: int = 1) -> str:
    """Say the same without telling how many hosts there are, or how much room.

    >>> uncounted({"ram": {"not enough memory": 4}, "enabled": {"disabled": 2}}, wanted=3)
    'No valid host was found for all 3 servers: not enough memory; disabled'
    """
    for_all = f" for all {wanted} servers" if wanted > 1 else ""
    reasons = [reason for reason, _ in _by_frequency(refusals)]
    return f"No valid host was found{for_all}: {'; '.join(reasons) or _NOBODY}"


def _near_miss(verdict: Verdict, hosts: Hosts) -> NearMiss | None:
    if verdict.closest is None:
        return None
    row, lacks = verdict.closest
    return NearMiss.of(host=hosts.name("host", row), node=hosts.name("node", row), lacks=lacks)


def _counted(refusals: Refusals) -> str:
    ordered = _by_frequency(refusals)
    if not ordered:
        return _NOBODY
    (reason, count), *others = ordered
    first = f"{count} {'host' if count == 1 else 'hosts'}: {reason}"
    return "; ".join([first, *(f"{count}: {reason}" for reason, count in others)])


def _by_frequency(refusals: Refusals) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for reasons in refusals.values():
        counts.update(reasons)
    return counts.most_common()
