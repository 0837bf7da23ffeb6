"""The daemons' logs, one or all, as they are and as they grow."""

import collections
import pathlib
import time
from collections.abc import Iterator

from roost import exception
from roost.rig.plan import Plan

PAUSE = 0.3  # seconds between two looks


def tail(plan: Plan, name: str | None, *, lines: int, follow: bool) -> Iterator[str]:
    """Return the last lines of each log, and then, if asked, what comes, for ever.

    :raises roost.exception.NotFound: when there is no such log
    """
    files = _files(plan, name)
    width = max(len(file.stem) for file in files)
    places = {}
    for file in files:
        with file.open(errors="replace") as log:
            last = collections.deque(log, maxlen=lines)
            places[file] = log.tell()
        yield from (_line(file, text, width, only=len(files) == 1) for text in last)
    while follow:
        time.sleep(PAUSE)
        for file in files:
            with file.open(errors="replace") as log:
                log.seek(places[file])
                new = log.readlines()
                places[file] = log.tell()
            yield from (_line(file, text, width, only=len(files) == 1) for text in new)


def _files(plan: Plan, name: str | None) -> list[pathlib.Path]:
    found = sorted(plan.log_file("x").parent.glob("*.log"))
    if name is not None:
        found = [file for file in found if file.stem == name]
    if not found:
        raise exception.NotFound(f"there is no log of {name or 'anything'}")
    return found


def _line(file: pathlib.Path, text: str, width: int, *, only: bool) -> str:
    text = text.rstrip("\n")
    return text if only else f"{file.stem:<{width}}  {text}"
