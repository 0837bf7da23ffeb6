"""What was lost, doubled, leaked or is unexplained: a pure function from what was seen."""

import collections
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from roost.audit import Finding
from roost.rig.chaos import schedule
from roost.rig.chaos.answers import LATE, FailedRequest
from roost.rig.chaos.breaker import Made
from roost.rig.chaos.keeper import Death
from roost.rig.chaos.watch import SETTLED, StormServer

LOST: Final = "lost"
DOUBLED: Final = "doubled"
LEAKED: Final = "leaked"
UNEXPLAINED: Final = "unexplained"
KINDS: Final = (LOST, DOUBLED, LEAKED, UNEXPLAINED)

AFTERMATH: Final = 60.0  # seconds after its healing in which a fault explains what went wrong
_RUNNING: Final = "1"
_FOUND: Final[Mapping[str, str]] = {  # what an audit finds is ...
    "instances on two hosts": DOUBLED,
    "instances in two cells": DOUBLED,
    "instances without guest": LOST,
    "instances without mapping": LOST,
    "build requests stuck": LOST,
}
_ACCIDENT: Final = re.compile(r"unexpected|internal error|traceback", re.IGNORECASE)
_API: Final = "api"


@dataclasses.dataclass(frozen=True, order=True)
class Item:
    """One thing that should not be: of which kind, what it is about, and how."""

    kind: str
    subject: str
    detail: str


@dataclasses.dataclass
class Observations:
    """All that was seen of a run, when it was quiet or the time for that was over.

    ``listed`` are servers as the API lists them; ``guests`` those on the hosts' disks, with their
    power state; ``queued`` messages by queue that nobody took; ``silent`` daemons that do not
    answer; ``left`` what is there when everything was deleted.
    """

    servers: Sequence[StormServer] = ()
    listed: Sequence[Mapping[str, Any]] = ()
    guests: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    findings: Sequence[Finding] = ()
    unchecked: Sequence[str] = ()
    queued: Mapping[str, int] = dataclasses.field(default_factory=dict)
    silent: Sequence[str] = ()
    failures: Sequence[FailedRequest] = ()
    faults: Sequence[Made] = ()
    deaths: Sequence[Death] = ()
    left: Sequence[str] = ()


def judge(seen: Observations) -> list[Item]:
    """Return all that should not be, by kind."""
    items = [item for check in _CHECKS for item in check(seen)]
    return sorted(set(items), key=lambda item: (KINDS.index(item.kind), item.subject, item.detail))


def reasons(servers: Iterable[StormServer]) -> dict[str, int]:
    """Count the servers in ERROR by what they say of it, names and numbers left out."""
    told = collections.Counter(
        _plain(server.fault) for server in servers if server.state == "ERROR" and not server.gone
    )
    return dict(told.most_common())


def _lost(seen: Observations) -> Iterator[Item]:
    """A server that was accepted and not deleted is there, ACTIVE or in ERROR."""
    for server in seen.servers:
        if not server.accepted or server.delete_asked is not None:
            continue
        if server.gone is not None or not server.ids:
            yield Item(LOST, server.name, f"{_id(server)} was accepted, and is not there")
        elif server.state not in SETTLED:
            yield Item(LOST, server.name, f"{_id(server)} is still {server.state or 'unseen'}")


def _not_deleted(seen: Observations) -> Iterator[Item]:
    """A server that was deleted is gone."""
    for server in seen.servers:
        if server.delete_asked is not None and server.gone is None:
            yield Item(LEAKED, server.name, f"{_id(server)} was deleted, and is {server.state}")


def _doubled(seen: Observations) -> Iterator[Item]:
    """A server that was asked for once is there once."""
    for server in seen.servers:
        if len(server.ids) > 1:
            yield Item(DOUBLED, server.name, f"has the ids {', '.join(server.ids)}")
    hosts_of: dict[str, list[str]] = collections.defaultdict(list)
    for host, guests in seen.guests.items():
        for uuid in guests:
            hosts_of[uuid].append(host)
    for uuid, hosts in hosts_of.items():
        if len(hosts) > 1:
            yield Item(DOUBLED, uuid, f"has guests on {' and '.join(sorted(hosts))}")


def _guests(seen: Observations) -> Iterator[Item]:
    """The guests on a host are those of its ACTIVE servers, and they run."""
    for server in seen.listed:
        host = server.get("OS-EXT-SRV-ATTR:host") or ""
        state = seen.guests.get(host, {}).get(server["id"])
        if server["status"] == "ACTIVE" and state != _RUNNING:
            yield Item(LOST, server["id"], f"is ACTIVE on {host}, where its guest is {state}")
    active = {server["id"] for server in seen.listed if server["status"] == "ACTIVE"}
    active |= {one for server in seen.servers if server.acted for one in server.ids}  # a rebuild's
    for host, guests in seen.guests.items():
        for uuid in guests.keys() - active:
            yield Item(LEAKED, uuid, f"has a guest on {host}, and no ACTIVE server")


def _groups(seen: Observations) -> Iterator[Item]:
    """The rule of a group holds for its servers, whatever broke while they were placed."""
    hosts: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for server in seen.servers:
        if server.group and server.state == "ACTIVE" and server.gone is None:
            hosts[server.group, server.request.policy].append(server.host)
    for (group, policy), found in hosts.items():
        expected = {"affinity": 1, "anti-affinity": len(found)}.get(policy)
        if expected is not None and len({*found}) != expected:
            yield Item(UNEXPLAINED, group, f"its servers are on {', '.join(found)} for {policy}")


def _strangers(seen: Observations) -> Iterator[Item]:
    """Every server there is was asked for, and was not refused."""
    asked = {server.name: server for server in seen.servers}
    for one in seen.listed:
        if one["name"] not in asked:
            yield Item(LEAKED, one["id"], f"{one['name']} is there, and nobody keeps it")
        elif asked[one["name"]].answer == "refused":
            yield Item(DOUBLED, one["id"], f"{one['name']} was refused, and is there")


def _audit(seen: Observations) -> Iterator[Item]:
    for finding in seen.findings:
        kind = _FOUND.get(finding.kind, LEAKED)
        yield Item(kind, finding.subject, f"{finding.kind}: {finding.detail}")
    for what in seen.unchecked:
        yield Item(UNEXPLAINED, "audit", f"could not look at {what}")


def _queues(seen: Observations) -> Iterator[Item]:
    for queue, messages in seen.queued.items():
        yield Item(LEAKED, queue, f"{messages} messages that nobody takes")


def _errors(seen: Observations) -> Iterator[Item]:
    """A server in ERROR says why, and something was broken that explains it."""
    for server in seen.servers:
        if server.state != "ERROR" or server.gone is not None or server.delete_asked is not None:
            continue
        if not server.fault:
            yield Item(UNEXPLAINED, server.name, f"{_id(server)} is in ERROR and does not say why")
        elif not _may_fail(seen, server):
            yield Item(UNEXPLAINED, server.name, f"{_id(server)} is in ERROR: {server.fault}")


def _may_fail(seen: Observations, server: StormServer) -> bool:
    around = _around(seen, server.asked, server.acted or server.settled or server.asked)
    if _ACCIDENT.search(server.fault):
        return any(made.fault.way == "crash" for made in around)
    return bool(server.request.policy) or bool(around)


def _flickers(seen: Observations) -> Iterator[Item]:
    """One that is to be deleted when its cell is back may be seen again then, and end."""
    for server in seen.servers:
        if server.flickers and server.delete_asked is None:
            yield Item(UNEXPLAINED, server.name, f"{_id(server)} was gone and there again")


def _answers(seen: Observations) -> Iterator[Item]:
    """An error that the API answers tells its client what to do; silence has a reason."""
    for failure in seen.failures:
        if not failure.clean:
            detail = f"{failure.what} was answered {failure.outcome}: {failure.message[-300:]}"
            yield Item(UNEXPLAINED, _API, detail)
        elif not failure.outcome.isdigit() and not _may_be_silent(seen, failure):
            yield Item(UNEXPLAINED, _API, f"{failure.what}: {failure.outcome}: {failure.message}")


def _may_be_silent(seen: Observations, failure: FailedRequest) -> bool:
    """Tell whether something was broken that makes the API silent, or late."""
    around = _around(seen, failure.began, failure.ended)
    if failure.outcome == LATE:
        return bool(around)
    return any(made.fault.target == _API for made in around) or any(
        death.name == _API and failure.began - AFTERMATH < death.at < failure.ended + AFTERMATH
        for death in seen.deaths
    )


def _daemons(seen: Observations) -> Iterator[Item]:
    for death in seen.deaths:
        yield Item(UNEXPLAINED, death.name, f"ended by itself; it logged last: {death.last_lines}")
    for name in seen.silent:
        yield Item(UNEXPLAINED, name, "does not answer though nothing is broken")
    for made in seen.faults:
        if made.failed and made.fault.kind != schedule.FILL:  # that one needs the API
            yield Item(UNEXPLAINED, str(made.fault), made.failed)


def _leftovers(seen: Observations) -> Iterator[Item]:
    for what in seen.left:
        yield Item(LEAKED, "when all was deleted", what)


def _around(seen: Observations, since: float, until: float) -> list[Made]:
    return [made for made in seen.faults if made.overlaps(since - AFTERMATH, until)]


def _id(server: StormServer) -> str:
    return server.ids[0] if server.ids else "without an id"


def _plain(text: str) -> str:
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)
    return re.sub(r"\d+", "N", text) or "(no reason)"


Check = Callable[[Observations], Iterator[Item]]
_CHECKS: Final[Sequence[Check]] = (
    _lost,
    _not_deleted,
    _doubled,
    _guests,
    _groups,
    _strangers,
    _audit,
    _queues,
    _errors,
    _flickers,
    _answers,
    _daemons,
    _leftovers,
)
