"""Fault injection from a JSON file that may change at any time.

The file is a list of rules, read before every step. A rule says which step fails and how; a missing
file means no faults::

    [
      {"step": "spawn", "host": "h1", "kind": "reschedulable", "message": "no luck here"},
      {"step": "network", "rate": 0.1, "kind": "crash"},
      {"step": "prepare", "host": "c1-*", "delay": 2.5}
    ]

=========  =====================================================================================
step       when the fault occurs
=========  =====================================================================================
begin      before the host asks its cell whether the instance is still wanted
claim      before the host claims resources
network    before the host requests ports
image      before the host fetches the image
prepare    in the driver, before anything of the guest exists there
spawn      in the driver, when half of the guest exists
announce   when the guest runs, before the host reports it to the cell
destroy    in the driver, before a guest is removed
power      in the driver, before a guest is stopped, started, paused, rescued and so on
snapshot   in the driver, before the disk of a guest is read
interface  in the driver, before an interface is attached to a guest, or detached
migrate    in the driver of the source, before each of 16 parts of a guest's memory is copied, or
           before the disks of a stopped guest are
copy       in the driver of the destination, before each of four parts of disks that move
arrive     in the driver of the destination, before a guest is created around disks that arrived
=========  =====================================================================================

=========  =====================================================================================
key        meaning
=========  =====================================================================================
step       required: one of the above, or ``*``
host       a host's name, or a pattern with ``*``; default: every host
rate       probability, from 0 (never) to 1 (always, the default)
delay      seconds to wait first; default: none
kind       ``reschedulable``: another host may succeed; ``final``: none will; ``crash``: an
           unexpected error; default: no failure, only the delay
message    the message of the failure
=========  =====================================================================================

Every matching rule is applied, in order, until one fails the step. A file that cannot be read or
parsed is logged once and ignored: the previous rules stay in force.
"""

import dataclasses
import fnmatch
import json
import logging
import pathlib
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from roost import exception

LOG = logging.getLogger(__name__)
STEPS: Final = (
    *("begin", "claim", "network", "image", "prepare", "spawn", "announce"),
    *("destroy", "power", "snapshot", "interface", "migrate", "copy", "arrive"),
)
KINDS: Final = ("reschedulable", "final", "crash")


class Crash(RuntimeError):
    """The unexpected error, on demand."""


@dataclasses.dataclass(frozen=True)
class FaultRule:
    """One fault: at which step it occurs and what it does."""

    step: str
    host: str = "*"
    rate: float = 1.0
    delay: float = 0.0
    kind: str | None = None
    message: str = "failed on demand"

    def __post_init__(self) -> None:
        _require(self.step in (*STEPS, "*"), f"step must be * or one of {', '.join(STEPS)}")
        _require(self.kind in (*KINDS, None), f"kind must be one of {', '.join(KINDS)}")
        _require(isinstance(self.host, str), "host must be a name or a pattern")
        _require(isinstance(self.message, str), "message must be text")
        _require(_is_number(self.rate) and 0 <= self.rate <= 1, "rate must be from 0 to 1")
        _require(_is_number(self.delay) and self.delay >= 0, "delay must be seconds, 0 or more")

    def fits(self, step: str, host: str) -> bool:
        return self.step in ("*", step) and fnmatch.fnmatchcase(host, self.host)

    def strike(self, step: str) -> None:
        """Fail ``step`` as this rule's kind says, if it has one."""
        message = f"{step}: {self.message}"
        if self.kind == "crash":
            raise Crash(message)
        if self.kind is not None:
            raise exception.BuildFailed(message, reschedulable=self.kind == "reschedulable")


class Faults:
    """The rules of one file, for one host.

    :param path: the file; None: no faults
    :param sleep: waits for seconds
    :param chance: returns numbers from 0 up to 1
    """

    def __init__(
        self,
        path: str | pathlib.Path | None,
        *,
        host: str,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._path = pathlib.Path(path) if path else None
        self._host = host
        self._sleep = sleep
        self._chance = chance
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._rules: tuple[FaultRule, ...] = ()

    def strike(self, step: str) -> None:
        """Delay or fail ``step`` by the current rules.

        :raises roost.exception.BuildFailed: for the kinds ``reschedulable`` and ``final``
        :raises Crash: for the kind ``crash``
        """
        for rule in self._current():
            if rule.fits(step, self._host) and self._chance() < rule.rate:
                self._sleep(rule.delay)
                rule.strike(step)

    def _current(self) -> tuple[FaultRule, ...]:
        if self._path is None:
            return ()
        with self._lock:
            seen = self._look(self._path)
            if seen != self._seen:
                self._seen = seen
                self._rules = self._read(self._path) if seen else ()
            return self._rules

    def _look(self, path: pathlib.Path) -> tuple[int, ...] | None:
        """Return a fingerprint of the file; None: there is none."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, path: pathlib.Path) -> tuple[FaultRule, ...]:
        try:
            rules = parse(path.read_text())
        except (OSError, ValueError) as error:
            LOG.error("faults file %s is ignored, the rules stay in force: %s", path, error)  # noqa: TRY400
            return self._rules
        LOG.info("faults file %s read: %d rules", path, len(rules))
        return rules


def parse(text: str) -> tuple[FaultRule, ...]:
    """Parse rules.

    :raises ValueError: naming the rule and the error in it
    """
    entries = json.loads(text)
    _require(isinstance(entries, list), "it must be a list of rules")
    return tuple(_parse_one(at, entry) for at, entry in enumerate(entries, start=1))


def _parse_one(at: int, entry: Any) -> FaultRule:
    try:
        _require(isinstance(entry, dict), "it must be an object")
        unknown = entry.keys() - {field.name for field in dataclasses.fields(FaultRule)}
        _require(not unknown, f"unknown keys {', '.join(sorted(unknown))}")
        _require("step" in entry, "it names no step")
        return FaultRule(**entry)
    except ValueError as error:
        raise ValueError(f"rule {at}: {error}") from error


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
