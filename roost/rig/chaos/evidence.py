"""What the logs say of things that should not be: a file for each, in order of time."""

import pathlib
import re
from collections.abc import Iterable, Sequence

from roost.rig.chaos.verdict import Item
from roost.rig.chaos.watch import Server

MOST = 50  # files
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+")


def gather(
    logs: pathlib.Path, folder: pathlib.Path, items: Iterable[Item], servers: Sequence[Server]
) -> None:
    """Write all log lines about each thing into ``folder``.

    :param logs: the folder of the daemons' logs
    """
    ids = {server.name: server.ids for server in servers}
    subjects = dict.fromkeys(item.subject for item in items)
    for subject in list(subjects)[:MOST]:
        words = [subject, *ids.get(subject, [])]
        lines = sorted(_lines(logs, words))
        if lines:
            folder.mkdir(exist_ok=True)
            name = re.sub(r"[^\w.-]", "_", subject)
            (folder / f"{name}.log").write_text("".join(line for _time, line in lines))


def _lines(logs: pathlib.Path, words: Sequence[str]) -> Iterable[tuple[str, str]]:
    for log in sorted(logs.glob("*.log")):
        with log.open(errors="replace") as lines:
            for line in lines:
                if any(word in line for word in words):
                    found = _TIME.search(line)
                    yield found.group() if found else "", f"{log.stem:<20} {line}"
