"""The outcome of a chaos run, as tables for people and as JSON for programs."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roost.rig.boots import percentile
from roost.rig.chaos import verdict
from roost.rig.chaos.answers import Answers
from roost.rig.chaos.breaker import Made
from roost.rig.chaos.keeper import Sample
from roost.rig.chaos.recovery import Recovery
from roost.rig.chaos.storm import ACTIONS
from roost.rig.chaos.verdict import Item
from roost.rig.chaos.watch import StormServer

_SHOWN = 12  # things of one kind on the screen; JSON has all


@dataclasses.dataclass
class ChaosOutcome:
    """All there is to tell of a run.

    :param command: what repeats it
    :param quiet: seconds from the last healing until everything was right
    :param rows: of each table: before the storm, after everything was deleted
    """

    command: str
    seed: int
    faults: Sequence[Made]
    servers: Sequence[StormServer]
    answers: Answers
    recovery: Recovery
    quiet: float
    items: Sequence[Item]
    memory: Mapping[str, Sequence[Sample]]
    rows: Mapping[str, tuple[int, int]]

    @property
    def held(self) -> bool:
        """Whether every invariant held."""
        return not self.items


def as_json(outcome: ChaosOutcome) -> dict[str, Any]:
    """Return an outcome as plain values; seconds, bytes."""
    return {
        "command": outcome.command,
        "seed": outcome.seed,
        "held": outcome.held,
        "faults": [_fault(made) for made in outcome.faults],
        "faults_made": dict(collections.Counter(made.fault.kind for made in outcome.faults)),
        "requests": _requests(outcome),
        "errors": verdict.reasons(outcome.servers),
        "answers": [
            {"request": what, "answer": answer, "count": count}
            for (what, answer), count in sorted(outcome.answers.counts.items())
        ],
        "answered_seconds": _percentiles(outcome.answers.seconds),
        "recovery_seconds": dataclasses.asdict(outcome.recovery),
        "quiet_seconds": round(outcome.quiet, 1),
        "found": _counts(outcome.items),
        "items": [dataclasses.asdict(item) for item in outcome.items],
        "memory": {name: memory(samples) for name, samples in sorted(outcome.memory.items())},
        "rows": {
            name: {"before": before, "after": after}
            for name, (before, after) in outcome.rows.items()
        },
    }


def show(console: Console, outcome: ChaosOutcome, *, with_memory: bool) -> None:
    """Print an outcome."""
    told = as_json(outcome)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_row("faults made", _words(told["faults_made"]) or "none")
    table.add_row("servers", _words(told["requests"]))
    table.add_row("actions", _words(_actions(outcome.answers)) or "none")
    table.add_row("recovery", _recovery(outcome.recovery))
    right = "everything was right" if outcome.held else "something was wrong"
    table.add_row("quiet", f"{right} {outcome.quiet:.0f} s after the last healing")
    for kind, count in told["found"].items():
        table.add_row(kind, Text(str(count), style="bold red" if count else "green"))
    console.print(table)
    for reason, count in told["errors"].items():
        console.print(Text(f"{count} in ERROR: {reason}", style="yellow"))
    if with_memory:
        console.print(_memory_table(told["memory"]))
    _show_items(console, outcome.items)


def memory(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the memory of one daemon: over all its processes, and over the one that lived longest.

    A process that is started anew begins anew; only one that lives shows whether it grows.
    """
    lives: dict[int, list[Sample]] = collections.defaultdict(list)
    for sample in samples:
        lives[sample.pid].append(sample)
    longest = max(lives.values(), key=lambda life: life[-1].at - life[0].at)
    return {
        "processes": len(lives),
        "first": samples[0].memory,
        "last": samples[-1].memory,
        "max": max(sample.memory for sample in samples),
        "longest_life": {
            "seconds": round(longest[-1].at - longest[0].at),
            "first": longest[0].memory,
            "last": longest[-1].memory,
        },
    }


def _requests(outcome: ChaosOutcome) -> dict[str, int]:
    accepted = [server for server in outcome.servers if server.accepted]
    deleted = [server for server in accepted if server.delete_asked is not None]
    staying = [server for server in accepted if server.delete_asked is None]
    return {
        "asked": len(outcome.servers),
        "accepted": len(accepted),
        "deleted": len(deleted),
        "ACTIVE": sum(server.state == "ACTIVE" for server in staying),
        "ERROR": sum(server.state == "ERROR" for server in staying),
    }


def _fault(made: Made) -> dict[str, Any]:
    healed = made.healed if made.healed is not None else made.began
    return {
        **dataclasses.asdict(made.fault),
        "rule": dict(made.fault.rule),
        "lasted": round(healed - made.began, 1),
        "failed": made.failed,
    }


def _counts(items: Iterable[Item]) -> dict[str, int]:
    found = collections.Counter(item.kind for item in items)
    return {kind: found[kind] for kind in verdict.KINDS}


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    marks = {"p50": 50.0, "p99": 99.0, "max": 100.0}
    return {name: round(percentile(seconds, percent), 3) for name, percent in marks.items()}


def _actions(answers: Answers) -> dict[str, int]:
    """Count the actions that were accepted."""
    counts = {action: answers.counts[f"POST {action}", "done"] for action in ACTIONS}
    return {action: count for action, count in counts.items() if count}


def _recovery(recovery: Recovery) -> str:
    return (
        f"p50 {recovery.p50:.1f} s  p99 {recovery.p99:.1f} s  max {recovery.max:.1f} s"
        f"  of {recovery.count} boots and deletes"
    )


def _memory_table(told: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("MiB of memory")
    for heading in ("first", "last", "max", "processes", "longest life", "from", "to"):
        table.add_column(heading, justify="right")
    for name, one in told.items():
        life = one["longest_life"]
        table.add_row(
            name,
            *(_mib(one[key]) for key in ("first", "last", "max")),
            str(one["processes"]),
            f"{life['seconds'] / 60:.1f} min",
            _mib(life["first"]),
            _mib(life["last"]),
        )
    return table


def _show_items(console: Console, items: Sequence[Item]) -> None:
    shown: collections.Counter[str] = collections.Counter()
    for item in items:
        shown[item.kind] += 1
        if shown[item.kind] <= _SHOWN:
            console.print(Text(f"{item.kind}: {item.subject}: {item.detail}", style="red"))
    for kind, count in shown.items():
        if count > _SHOWN:
            console.print(f"{kind}: {count - _SHOWN} more")


def _words(counts: Mapping[str, int]) -> str:
    return "  ".join(f"{name} {count}" for name, count in counts.items())


def _mib(number: int) -> str:
    return f"{number / 2**20:.0f}"
