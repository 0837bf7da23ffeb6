"""The command line of every daemon: options, logs, and messages about invalid options."""

import logging
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from oslo_config import cfg
from oslo_log import log

import roost.conf
from roost import concurrency, exception, plugins
from roost.cmd import _records
from roost.rpc import oslo_driver

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
    try:
        _records.set_up(conf)
    except (RuntimeError, ImportError, log.LogConfigError) as error:
        needs = " (use_journal needs systemd-python)" if conf.use_journal else ""
        print(f"{prog}: logs cannot be written: {error}{needs}", file=sys.stderr)
        sys.exit(WRONG_CONFIGURATION)
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
    except Exception as error:
        missing = _missing(error)
        if missing is None:
            LOG.exception("these options cannot work")
        else:
            print(f"these options cannot work: {plugins.lacking(missing)}", file=sys.stderr)
    sys.exit(WRONG_CONFIGURATION)


def _missing(error: BaseException | None) -> ImportError | None:
    """Return the import that failed before an error was raised, if one did."""
    while error is not None and not isinstance(error, ImportError):
        error = error.__cause__ or error.__context__
    return error


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
