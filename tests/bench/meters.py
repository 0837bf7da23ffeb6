"""Counting and telling for benches: rates, latencies, CPU by kind of process, tables."""

import collections
import dataclasses
import os
import time

import psutil

SERVERS = {"postgresql": "postgres", "mariadb": "mariadbd", "rabbitmq": "beam.smp"}


@dataclasses.dataclass
class Spent:
    """Calls, and what they took of time and of CPU, in seconds."""

    calls: int
    wall: float
    cpu: float

    @property
    def rate(self):
        return self.calls / self.wall

    @property
    def microseconds(self):
        """CPU of one call."""
        return self.cpu / self.calls * 1e6


def repeat(step, *, seconds):
    """Call ``step`` for a while; return what was spent."""
    step()
    calls, began, cpu = 0, time.perf_counter(), time.process_time()
    until = began + seconds
    while time.perf_counter() < until:
        step()
        calls += 1
    return Spent(calls, time.perf_counter() - began, time.process_time() - cpu)


def once(step):
    """Call ``step`` once; return what was spent."""
    began, cpu = time.perf_counter(), time.process_time()
    step()
    return Spent(1, time.perf_counter() - began, time.process_time() - cpu)


def spin():
    """Return the CPU seconds of a fixed piece of Python: how fast this machine is just now."""
    return min(
        once(lambda: sum(number * number for number in range(200_000))).cpu for _ in range(5)
    )


def percentile(values, percent):
    """Return the value that ``percent`` of the values do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


class ServerMeter:
    """CPU seconds of a server that others may use, too.

    PostgreSQL has a process per connection, so those of one ``database`` are told apart; what all
    its databases share (the writer of its log) counts whole, and so do the other servers.
    """

    def __init__(self, kind, database=""):
        self._name = SERVERS.get(kind)
        self._database = database
        self._before = self._seconds()

    def spent(self):
        return sum((self._seconds() - self._before).values())

    def _seconds(self):
        seconds = collections.Counter()
        for process in psutil.process_iter(["name", "pid"]) if self._name else ():
            try:
                if process.info["name"] == self._name and self._counts(process):
                    times = process.cpu_times()
                    seconds[process.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return seconds

    def _counts(self, process):
        if self._name != SERVERS["postgresql"]:
            return True
        title = " ".join(process.cmdline())
        return f" {self._database} " in title or "walwriter" in title or "checkpointer" in title


def table(title, rows):
    """Print rows, dicts of the same columns, as reStructuredText; numbers to the right."""
    columns = list(rows[0])
    cells = [[_shown(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    print(f"\n{title}\n\n{rule}")
    print(
        "  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip()
    )
    print(rule)
    for row, line in zip(rows, cells, strict=True):
        print("  ".join(map(_aligned, row.values(), line, widths)).rstrip())
    print(rule, flush=True)


def load():
    """Return how many processes wanted a core in the last minute."""
    return os.getloadavg()[0]


def _aligned(value, text, width):
    return text.rjust(width) if isinstance(value, int | float) else text.ljust(width)


def _shown(value):
    return f"{value:,}" if isinstance(value, int | float) else str(value)
