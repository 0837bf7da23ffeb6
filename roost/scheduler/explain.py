"""Says to users and operators why no host was found."""

from collections import Counter

from roost import exception
from roost.scheduler.engine import Decision, Refusals
from roost.scheduler.request import Request


def no_valid_host(request: Request, decision: Decision) -> exception.NoValidHost:
    """Make the error of a decision that found no place; its message is the user's sentence."""
    message = sentence(decision.refusals, wanted=request.unplaced, fitting=decision.fitting)
    return exception.NoValidHost(message, refusals=decision.refusals)


def sentence(refusals: Refusals, *, wanted: int = 1, fitting: int = 0) -> str:
    """Say what stood against it, the commonest reason first.

    >>> sentence({"ram": {"not enough memory": 4}, "enabled": {"disabled": 2}})
    'No valid host was found: 4 hosts: not enough memory; 2: disabled'
    """
    room = f" (there is room for {fitting} of {wanted})" if fitting else ""
    return f"No valid host was found{room}: {_reasons(refusals)}"


def _reasons(refusals: Refusals) -> str:
    counts: Counter[str] = Counter()
    for reasons in refusals.values():
        counts.update(reasons)
    if not counts:
        return "no host is known"
    (reason, count), *others = counts.most_common()
    first = f"{count} {'host' if count == 1 else 'hosts'}: {reason}"
    return "; ".join([first, *(f"{count}: {reason}" for reason, count in others)])
