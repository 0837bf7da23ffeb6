"""Reads traces: CSV files, gzipped or not, with a line per VM."""

import array
import csv
import gzip
import io
import math
import pathlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TextIO

import numpy as np

from roost import exception
from roost.scheduler.columns import Floats, Ints
from roost.scheduler.simulation.amounts import MOST_IN_ALL, demand

COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "arrival": ("arrival", "arrivaltime", "start", "starttime", "created"),
    "departure": ("departure", "departuretime", "end", "endtime", "deleted"),
    "cores": ("cores", "vcpus", "cpus", "cpu", "core"),
    "ram": ("ram", "memory", "memorymb", "mem"),
    "disk": ("disk", "diskgb"),
    "group": ("group", "servergroup"),
    "zone": ("zone", "availabilityzone"),
    "count": ("count", "instances"),
}
"""Fields of a trace, and the column names for each; case, blanks and underscores do not matter."""

_NEEDED: Final = ("arrival", "departure", "cores", "ram")


class RequestShape(NamedTuple):
    """A request for ``vms`` VMs at once, each of this size (see ``amounts``)."""

    cores: int
    ram: int
    disk: int = 0
    vms: int = 1
    zone: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Trace:
    """Requests in order of arrival: element i of each column is the same request.

    ``kind_of`` are indices of ``kinds``. Times are in the unit of the file; a departure may be
    infinite.
    """

    arrivals: Floats
    departures: Floats
    kind_of: Ints
    kinds: Sequence[RequestShape]

    def __len__(self) -> int:
        return len(self.arrivals)

    def amounts(self) -> Ints:
        """Return the cores, ram and disk of each request: a line per resource."""
        each = [(k.cores * k.vms, k.ram * k.vms, k.disk * k.vms) for k in self.kinds]
        return np.array(each, dtype=np.int64).reshape(-1, 3).T[:, self.kind_of]

    def counts(self) -> Ints:
        """Return the number of VMs of each request."""
        return np.array([kind.vms for kind in self.kinds], dtype=np.int64)[self.kind_of]


def read(path: pathlib.Path, *, columns: Mapping[str, str] | None = None) -> Trace:
    """Read a trace.

    :param columns: names of columns in the file by field; other fields are found by :data:`COLUMNS`
    :raises roost.exception.Invalid: naming file and line, when something is missing or wrong
    :raises OSError: when the file cannot be read
    """
    try:
        with _opened(path) as file:
            return _read(_Lines(path, file), columns or {})
    except (UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise exception.Invalid(f"{path} cannot be read: {error}") from error


class _Lines:
    """The lines of a file, with their numbers for error messages."""

    def __init__(self, path: pathlib.Path, file: TextIO) -> None:
        self._path = path
        self._reader = csv.reader(file, strict=True)

    def __iter__(self) -> Iterator[list[str]]:
        return (line for line in self._reader if line)

    def wrong(self, text: str) -> exception.Invalid:
        return exception.Invalid(f"{self._path}, line {max(1, self._reader.line_num)}: {text}")


def _opened(path: pathlib.Path) -> TextIO:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _read(lines: _Lines, columns: Mapping[str, str]) -> Trace:
    iterator = iter(lines)
    at = _positions(lines, next(iterator, []), columns)
    arrivals, departures, kind_of = array.array("d"), array.array("d"), array.array("q")
    kinds: dict[RequestShape, int] = {}
    for line in iterator:
        arrival, departure = _times(lines, line, at)
        arrivals.append(arrival)
        departures.append(departure)
        kind_of.append(kinds.setdefault(_kind(lines, line, at), len(kinds)))
    if not kinds:
        raise lines.wrong("there are no VMs")
    if _is_too_much(list(kinds), kind_of):
        raise lines.wrong("all VMs together ask for more than can be counted")
    order = np.argsort(arrivals, kind="stable")
    return Trace(
        arrivals=np.array(arrivals)[order],
        departures=np.array(departures)[order],
        kind_of=np.array(kind_of)[order],
        kinds=list(kinds),
    )


def _is_too_much(kinds: Sequence[RequestShape], kind_of: Iterable[int]) -> bool:
    most = [kind.vms * max(kind.cores, kind.ram, kind.disk, 1) for kind in kinds]
    return sum(most[kind] for kind in kind_of) > MOST_IN_ALL


def _positions(lines: _Lines, header: Sequence[str], given: Mapping[str, str]) -> dict[str, int]:
    """Return the index of each field's column, for those that exist."""
    names = [name.strip() for name in header]
    at = {}
    for column, name in given.items():
        if name not in names:
            raise lines.wrong(
                f"there is no column {name!r}; there are {', '.join(names) or 'none'}"
            )
        at[column] = names.index(name)
    plain = [name.lower().replace("_", "").replace(" ", "") for name in names]
    for column, usual in COLUMNS.items():
        found = next((name for name in usual if name in plain), None)
        if found and column not in at:
            at[column] = plain.index(found)
    missing = [column for column in _NEEDED if column not in at]
    if missing:
        raise lines.wrong(
            f"no column is named like {' or '.join(missing)}; there are"
            f" {', '.join(names) or 'none'}: say which one it is ({missing[0]}=NAME)"
        )
    return at


def _times(lines: _Lines, line: Sequence[str], at: Mapping[str, int]) -> tuple[float, float]:
    arrival = _time(lines, line, at, "arrival")
    departure = _time(lines, line, at, "departure")
    if not math.isfinite(arrival):
        raise lines.wrong("column arrival: a VM must arrive at some time")
    if departure < arrival:
        raise lines.wrong(f"a VM departs at {departure:g}, before it arrives at {arrival:g}")
    return arrival, departure


def _time(lines: _Lines, line: Sequence[str], at: Mapping[str, int], column: str) -> float:
    text = _text(lines, line, at, column)
    if not text and column == "departure":
        return math.inf
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if math.isnan(time):
        raise lines.wrong(f"column {column}: {text!r} is not a time")
    return time


def _kind(lines: _Lines, line: Sequence[str], at: Mapping[str, int]) -> RequestShape:
    return RequestShape(
        cores=_amount(lines, line, at, "cores"),
        ram=_amount(lines, line, at, "ram"),
        disk=_amount(lines, line, at, "disk") if "disk" in at else 0,
        vms=_count(lines, line, at) if "count" in at else 1,
        zone=_text(lines, line, at, "zone") or None if "zone" in at else None,
        group=_text(lines, line, at, "group") or None if "group" in at else None,
    )


def _amount(lines: _Lines, line: Sequence[str], at: Mapping[str, int], column: str) -> int:
    try:
        return demand(_text(lines, line, at, column))
    except ValueError as error:
        raise lines.wrong(f"column {column}: {error}") from error


def _count(lines: _Lines, line: Sequence[str], at: Mapping[str, int]) -> int:
    text = _text(lines, line, at, "count")
    if not text.isdecimal() or int(text) < 1:
        raise lines.wrong(f"column count: {text!r} is not a whole number above 0")
    return int(text)


def _text(lines: _Lines, line: Sequence[str], at: Mapping[str, int], column: str) -> str:
    place = at[column]
    if place >= len(line):
        raise lines.wrong(f"column {column} is missing: the line has {len(line)} columns")
    return line[place].strip()
