"""The records of a log: each begins exactly one line, whatever text users send.

An unexpected error that repeats has its traceback in one record a minute, and in others a line.
"""

import dataclasses
import datetime
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final

from oslo_config import cfg
from oslo_log import formatters, log

# Characters that begin a line or control terminals -> their escapes in a string.
_ESCAPED: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
} | {ord("\t"): "\t"}
_INDENTED: Final = _ESCAPED | {ord("\n"): "\n    "}
_CODE: Final = "  File "  # begins the lines of a traceback about code, which users cannot send
_REMOTE: Final = "_Remote"  # oslo.messaging's ending of the classes of errors of other daemons
_SILENT_SECONDS: Final = 60.0
_MOST_SHOWN: Final = 1000
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def set_up(conf: cfg.ConfigOpts) -> None:
    """Configure logging by the options; handlers of an operator's file keep other formatters."""
    log.setup(conf, "roost")
    logging.setLogRecordFactory(Records())
    names = [*logging.root.manager.loggerDict]
    for handler in {h for name in (None, *names) for h in logging.getLogger(name).handlers}:
        if type(handler.formatter) is formatters.ContextFormatter:
            handler.setFormatter(Formatter(datefmt=handler.formatter.datefmt, config=conf))


class OneLine(logging.LogRecord):
    """A record whose message is one line: line breaks in users' text, say a path, are escaped.

    ``repeated`` says of an error that it is a repeated one.
    """

    repeated = ""

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        return f"{super().getMessage()}{self.repeated}".translate(_ESCAPED)


@dataclasses.dataclass
class _Shown:
    """An error whose traceback was shown, and how many times it came again."""

    since: float
    at: float
    repeats: int = 0


class Records:
    """Makes records; leaves out the traceback of an error if it was shown in the last minute.

    It is the same error if it is of the same class, and was raised and logged in the same lines.
    Threads take no lock: at worst a traceback is shown twice.

    :param now: monotonic seconds
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._shown: dict[tuple[Any, ...], _Shown] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> OneLine:
        record = OneLine(*args, **kwargs)
        if record.exc_info and record.exc_info[1] is not None:
            record.repeated = self._note(record, record.exc_info[1])
        return record

    def _note(self, record: OneLine, error: BaseException) -> str:
        lines = ((f.f_code.co_filename, n) for f, n in traceback.walk_tb(error.__traceback__))
        key = (type(error), record.pathname, record.lineno, *lines)
        now, shown = self._now(), self._shown.get(key)
        if shown is not None and now - shown.since < _SILENT_SECONDS:
            shown.repeats += 1
            record.exc_info = None
            at = time.strftime("%H:%M:%S", time.localtime(shown.at))
            return f": {_summary(error)} (again: {shown.repeats} times since {at}, see there)"
        if len(self._shown) >= _MOST_SHOWN:
            self._shown.clear()
        self._shown[key] = _Shown(now, record.created)
        repeats = shown.repeats if shown is not None else 0
        return f" ({repeats} times more since the last traceback)" if repeats else ""


def _summary(error: BaseException) -> str:
    return traceback.format_exception_only(error)[0].partition("\n")[0]


class Formatter(formatters.ContextFormatter):
    """Escapes line breaks in the user's identity and in exceptions, too.

    The summary of an exception is its first line, and left out where the message has said as much.
    In a traceback further lines are indented.
    """

    def formatMessage(self, record: Any) -> str:  # noqa: N802 - logging's name
        for name in ("error_summary", "instance", "user_identity"):
            text = str(getattr(record, name, ""))
            setattr(record, name, text.partition("\n")[0].translate(_ESCAPED))
        summary = record.error_summary = record.error_summary.replace(_REMOTE, "")
        line = super().formatMessage(record)
        said = summary.partition(": ")[2]
        return line.removesuffix(f": {summary}") if said and said in record.message else line

    def formatException(  # noqa: N802 - logging's name
        self, ei: _ExcInfo, *, record: logging.LogRecord | None = None
    ) -> str:
        prefix = "" if record is None else self._prefix(record)
        return "\n".join(f"{prefix}{line}" for line in _lines(ei))

    def _prefix(self, record: logging.LogRecord) -> str:
        """Return the prefix of each line of a traceback."""
        record.asctime = self.formatTime(record, self.datefmt)
        record.isotime = datetime.datetime.fromtimestamp(record.created).astimezone().isoformat()
        return str(self.conf.logging_exception_prefix % record.__dict__)


def _lines(ei: _ExcInfo) -> Iterator[str]:
    """Yield the lines of a traceback; further lines of an exception's message are indented."""
    for part in traceback.format_exception(*ei):
        if part.startswith(_CODE):
            yield from part.rstrip("\n").split("\n")
        else:
            yield from part.strip("\n").translate(_INDENTED).split("\n")
