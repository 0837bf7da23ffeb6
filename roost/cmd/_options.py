"""The command line of every daemon: options, logs, and messages about invalid options.

Each log record begins exactly one line, whatever text users send.
"""

import datetime
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, TypeVar

from oslo_config import cfg
from oslo_log import formatters, log

import roost.conf
from roost import concurrency, exception
from roost.rpc import oslo_driver

# Characters that begin a line or control terminals -> their escapes in a string.
_ESCAPED: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
} | {ord("\t"): "\t"}
_INDENTED: Final = _ESCAPED | {ord("\n"): "\n    "}
_CODE: Final = "  File "  # begins the lines of a traceback about code, which users cannot send
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def set_up(conf: cfg.ConfigOpts) -> None:
    """Configure logging by the options; handlers of an operator's file keep other formatters."""
    log.setup(conf, "roost")
    logging.setLogRecordFactory(OneLine)
    names = [*logging.root.manager.loggerDict]
    for handler in {h for name in (None, *names) for h in logging.getLogger(name).handlers}:
        if type(handler.formatter) is formatters.ContextFormatter:
            handler.setFormatter(Formatter(datefmt=handler.formatter.datefmt, config=conf))


class OneLine(logging.LogRecord):
    """A record whose message is one line: line breaks in users' text, say a path, are escaped."""

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        return super().getMessage().translate(_ESCAPED)


class Formatter(formatters.ContextFormatter):
    """Escapes line breaks in the user's identity and in exceptions, too.

    The summary of an exception is its first line. In a traceback further lines are indented.
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


LOG = logging.getLogger(__name__)
T = TypeVar("T")
WRONG_CONFIGURATION = 78  # EX_CONFIG: the units do not restart after it
# Libraries whose messages are for their authors, or repeated again and again.
_QUIET = [
    "amqp=WARN",
    "kombu=WARN",
    "oslo_messaging=INFO",
    "oslo_messaging._drivers.pool=ERROR",
    "oslo_service=WARN",
    "cotyledon=WARN",
    "oslo_policy=INFO",
    "sqlalchemy=WARN",
    "stevedore=WARN",
    "alembic=WARN",
    "keystoneauth=WARN",
    "keystonemiddleware=WARN",
    "urllib3.connectionpool=WARN",
]


def load(prog: str, arguments: Sequence[str] | None = None) -> cfg.ConfigOpts:
    """Read the command line and the files it names, and set up the logs they ask for.

    Ends the process when they cannot be read.
    """
    conf = read(prog, sys.argv[1:] if arguments is None else arguments)
    set_up(conf)
    return conf


def read(prog: str, arguments: Sequence[str]) -> cfg.ConfigOpts:
    """Read a command line and the files it names; the process ends when they are wrong."""
    try:
        conf = roost.conf.load(arguments, prog=prog, extend=_register_logging)
        _check_values(conf)
        _check_concurrency(conf)
    except cfg.Error as error:
        print(f"{prog}: {error}", file=sys.stderr)
        sys.exit(WRONG_CONFIGURATION)
    return conf


def explained(make: Callable[[], T]) -> T:
    """Call ``make``; when the options are invalid, log why and end the process."""
    try:
        return make()
    except exception.RoostError as error:
        print(error.message, file=sys.stderr)
    except Exception:
        LOG.exception("these options cannot work")
    sys.exit(WRONG_CONFIGURATION)


def _check_values(conf: cfg.ConfigOpts) -> None:
    """Validate every option now: oslo.config validates one only when it is first used."""
    for group, options in roost.conf.own_opts():
        for option in options:
            conf[option.dest] if group == "DEFAULT" else conf[group][option.dest]


def _check_concurrency(conf: cfg.ConfigOpts) -> None:
    """Check that the option has the value that was selected before options could be read.

    :raises oslo_config.cfg.Error: when it does not
    """
    if conf.concurrency != concurrency.selected():
        raise cfg.Error(
            f"[DEFAULT] concurrency is {conf.concurrency!r}, but {concurrency.selected()!r} was"
            " selected at the start: name the file that has it by --config-file"
        )


def set_library_defaults() -> None:
    """Set Roost's defaults of libraries' options: for the sample generator."""
    from roost.api import keystone_auth  # not used by the other daemons
    from roost.cmd import _wsgi_middleware  # nor is this

    log.set_defaults(default_log_levels=_QUIET)
    oslo_driver.set_defaults()
    keystone_auth.set_defaults()
    _wsgi_middleware.set_defaults()


def _register_logging(conf: cfg.ConfigOpts) -> None:
    log.register_options(conf)
    conf.set_default("default_log_levels", _QUIET)
