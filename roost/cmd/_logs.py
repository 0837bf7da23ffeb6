"""Logs in which each record begins one line: whatever users send, it begins no other."""

import datetime
import logging
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Final

from oslo_config import cfg
from oslo_log import formatters, log

# What begins a line, or does things to terminals, as it would be written in a string.
_ESCAPED: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
} | {ord("\t"): "\t"}
_INDENTED: Final = _ESCAPED | {ord("\n"): "\n    "}
_A_PLACE: Final = "  File "  # begins what a traceback has of code, which nobody sends
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def set_up(conf: cfg.ConfigOpts) -> None:
    """Write logs as options say; handlers of a file of the operator's keep formatters of others."""
    log.setup(conf, "roost")
    logging.setLogRecordFactory(OneLine)
    names = [*logging.root.manager.loggerDict]
    for handler in {h for name in (None, *names) for h in logging.getLogger(name).handlers}:
        if type(handler.formatter) is formatters.ContextFormatter:
            handler.setFormatter(Formatter(datefmt=handler.formatter.datefmt, config=conf))


class OneLine(logging.LogRecord):
    """A record whose message is one line: what users send, a path say, begins no other."""

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        return super().getMessage().translate(_ESCAPED)


class Formatter(formatters.ContextFormatter):
    """Writes who asks, and what exceptions say, so that they begin no line either.

    The summary of an exception is its first line. In a traceback further ones are indented.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        for name in ("error_summary", "instance", "user_identity"):
            text = str(getattr(record, name, ""))
            setattr(record, name, text.partition("\n")[0].translate(_ESCAPED))
        return super().formatMessage(record)

    def formatException(  # noqa: N802 - logging's name
        self, ei: _ExcInfo, *, record: logging.LogRecord | None = None
    ) -> str:
        prefix = "" if record is None else self._prefix(record)
        return "\n".join(f"{prefix}{line}" for line in _lines(ei))

    def _prefix(self, record: logging.LogRecord) -> str:
        """Return what begins each line of a traceback."""
        record.asctime = self.formatTime(record, self.datefmt)
        record.isotime = datetime.datetime.fromtimestamp(record.created).astimezone().isoformat()
        return str(self.conf.logging_exception_prefix % record.__dict__)


def _lines(ei: _ExcInfo) -> Iterator[str]:
    """Yield the lines of a traceback; what an exception says is in one, or indented below it."""
    for part in traceback.format_exception(*ei):
        if part.startswith(_A_PLACE):
            yield from part.rstrip("\n").split("\n")
        else:
            yield from part.strip("\n").translate(_INDENTED).split("\n")
