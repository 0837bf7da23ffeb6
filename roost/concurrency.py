"""Selects native threads or eventlet, before anything else is imported.

Every entry point calls :func:`select` as its first statement: eventlet must patch the standard
library before other modules bind ``threading.Lock``, ``socket.socket`` or ``time.sleep``, and
oslo.service fixes its backend when it is first imported. So the choice cannot wait for
oslo.config: this module parses the same files and arguments itself.
"""

import configparser
import os
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TypeVar

THREADING = "threading"
EVENTLET = "eventlet"
MODES = (THREADING, EVENTLET)
ENVIRONMENT = "OS_DEFAULT__CONCURRENCY"  # where oslo.config would look for the option, too
_TOO_LATE = ("oslo_messaging", "kombu", "sqlalchemy", "oslo_service", "oslo_log", "falcon")
_NO_RESOLVER = "EVENTLET_NO_GREENDNS"
_selected: list[str] = []
T = TypeVar("T")


def select(arguments: Sequence[str] | None = None, mode: str | None = None) -> str:
    """Select the mode of this process; a second call must agree with the first, or give no mode.

    :param arguments: the command line, searched for ``--config-file`` and ``--config-dir``; None:
        this process's, if nothing was chosen yet
    :param mode: overrides environment and files
    :raises RuntimeError: when the choice is unknown, contradicts an earlier one or comes too late
    """
    if _selected and mode is None and arguments is None:
        return _selected[0]
    mode = mode or _configured(sys.argv[1:] if arguments is None else arguments)
    if _selected:
        if _selected[0] != mode:
            raise RuntimeError(f"concurrency is {_selected[0]} already, cannot become {mode}")
        return mode
    if mode not in MODES:
        raise RuntimeError(f"concurrency must be threading or eventlet, not {mode!r}")
    # Libraries import eventlet even with native threads; the warning is of no use to operators.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    if mode == EVENTLET:
        _patch()
    else:
        _load_unused_eventlet()
    from oslo_service import backend

    backend.init_backend(backend.BackendType(mode))
    _selected.append(mode)
    return mode


def _load_unused_eventlet() -> None:
    """Let futurist load eventlet, as it always does, without its DNS resolver.

    Loading that takes a quarter of a second at each start. Child processes do not inherit this.
    """
    before = os.environ.get(_NO_RESOLVER)
    os.environ[_NO_RESOLVER] = "yes"
    try:
        import futurist  # noqa: F401
    finally:
        if before is None:
            del os.environ[_NO_RESOLVER]
        else:
            os.environ[_NO_RESOLVER] = before


def selected() -> str:
    """Return the mode of this process (threads when nothing was selected, as in tests)."""
    return _selected[0] if _selected else THREADING


def executor(max_workers: int) -> futures.Executor:
    """Make an executor of the selected kind for a daemon's own work.

    The threads of futurist's wake each second while they are idle, and a host has a hundred.
    """
    if selected() == EVENTLET:
        import futurist

        return futurist.GreenThreadPoolExecutor(max_workers=max_workers)
    return futures.ThreadPoolExecutor(max_workers=max_workers)


def abandonable(work: Callable[[], T], *, name: str) -> futures.Future[T]:
    """Run ``work`` in a daemon thread, which does not keep the process alive.

    :returns: its result or exception, for callers who wait, with or without a timeout
    """
    result: futures.Future[T] = futures.Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised in the caller that waits for the result
            result.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return result


def _patch() -> None:
    late = [name for name in _TOO_LATE if name in sys.modules]
    if late:
        raise RuntimeError(f"too late to choose eventlet, loaded already: {', '.join(late)}")
    import eventlet

    eventlet.monkey_patch()


def _configured(arguments: Sequence[str]) -> str:
    """Return the mode of the environment or the files.

    Unreadable files and invalid modes are ignored: oslo.config will read the same soon, with
    better error messages.
    """
    chosen = os.environ.get(ENVIRONMENT) or _in_files(_config_files(arguments))
    return chosen if chosen in MODES else THREADING


def _in_files(files: Sequence[pathlib.Path]) -> str | None:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read(files)
    except (configparser.Error, UnicodeDecodeError, OSError):
        return None
    return parser.defaults().get("concurrency")


def _config_files(arguments: Sequence[str]) -> list[pathlib.Path]:
    files = [pathlib.Path(name) for name in _values(arguments, "--config-file")]
    if not files:
        files = [pathlib.Path("/etc/roost/roost.conf")]
    for folder in _values(arguments, "--config-dir"):
        files += sorted(pathlib.Path(folder).glob("*.conf"))
    return files


def _values(arguments: Sequence[str], option: str) -> list[str]:
    found = [given.split("=", 1)[1] for given in arguments if given.startswith(option + "=")]
    for at, given in enumerate(arguments[:-1]):
        if given == option:
            found.append(arguments[at + 1])
    return found
