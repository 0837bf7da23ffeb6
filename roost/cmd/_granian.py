"""A WSGI application in worker processes, served by Granian.

The parent waits for the startup checks, listens, and replaces workers that die. Each worker makes
its application after the fork, from a command line that it reads itself; so SIGHUP, which replaces
the workers one after the other, reloads all options but those of the server.
"""

import contextlib
import ctypes
import functools
import http.client
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from cotyledon import oslo_config_glue
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from oslo_config import cfg

from roost.api import admission
from roost.cmd import _checks, _http, _run
from roost.cmd._daemon import Closable
from roost.cmd._run import Systemd
from roost.cmd._waiting import StartupCheck, StartupWait

LOG = logging.getLogger(__name__)
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
_HEADER_SECONDS: Final = 75  # that the next request of a connection may take to begin
EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and its loopback
# Granian's logs go to the root logger instead of its own handlers.
_LOGGERS: Final = {"_granian": {"propagate": True}, "granian.access": {"propagate": True}}


def run(
    conf: cfg.ConfigOpts,
    *,
    name: str,
    make_app: Callable[[], admission.Wsgi],
    checks: Sequence[StartupCheck] = (),
    closing: Sequence[Closable] = (),
) -> NoReturn:
    """Serve ``[api] listen`` and ``port`` until SIGTERM, then finish running requests and exit.

    :param make_app: called in each worker
    :param checks: startup checks
    :param closing: opened by the checks; closed before the workers start
    """
    systemd = Systemd.take()
    oslo_config_glue.register_opts(conf)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until Granian sets its own handlers
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    free = _checks.address(str(conf.api.listen), conf.api.port)
    StartupWait(name, stopping=threading.Event(), tell=systemd.status).until([*checks, free])
    for opened in closing:
        opened.close()
    server = _server(conf, name)
    server.on_startup(functools.partial(_announce_stop, systemd))
    probe = _Probe(systemd, conf.api.listen, conf.api.port)
    loader = functools.partial(_load, make_app, probe, os.getpid())
    _run.share()
    server.serve(target_loader=loader, wrap_loader=False)
    sys.exit(0)


def _server(conf: cfg.ConfigOpts, name: str) -> Any:
    return Granian(
        target=name,
        address=str(conf.api.listen),
        port=conf.api.port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,  # for HTTP/2 Granian has no timeouts
        websockets=False,
        workers=conf.workers,
        blocking_threads=admission.threads(conf.api.threads, conf.api.max_waiting),
        backlog=_http.BACKLOG,
        backpressure=_http.CONNECTIONS,
        http1_settings=HTTP1Settings(
            header_read_timeout=_HEADER_SECONDS * 1000, max_buffer_size=_http.MAX_HEADERS
        ),
        log_dictconfig={"handlers": {}, "loggers": _LOGGERS},
        respawn_failed_workers=True,
        workers_kill_timeout=conf.graceful_shutdown_timeout or None,
    )


def _announce_stop(systemd: Systemd) -> None:
    """Notify systemd of a stop before Granian handles the signal."""
    stop: Any = signal.getsignal(signal.SIGTERM)

    def announce(*arguments: Any) -> None:
        systemd.stopping()
        stop(*arguments)

    signal.signal(signal.SIGTERM, announce)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, even by SIGKILL: no parent would replace it.

    Until Granian sets its SIGTERM handler here, too, SIGTERM ends the process at once: the
    inherited handler of the parent would not.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:  # the parent has already ended
        sys.exit(1)


class _Probe:
    """Sends READY once the port really answers: Granian listens long before its workers serve."""

    def __init__(self, systemd: Systemd, host: str, port: int) -> None:
        self._systemd = systemd
        self._host = EVERY_ADDRESS.get(str(host), str(host))
        self._port = port

    def start(self) -> None:
        threading.Thread(target=self._wait, name="probe", daemon=True).start()

    def _wait(self) -> None:
        while not self._answers():
            time.sleep(0.05)
        LOG.info("port %d answers", self._port)
        self._systemd.ready()

    def _answers(self) -> bool:
        with (
            contextlib.closing(
                http.client.HTTPConnection(self._host, self._port, timeout=2)
            ) as connection,
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", "/")
            connection.getresponse()
            return True
        return False


def _load(make_app: Callable[[], admission.Wsgi], probe: _Probe, parent: int) -> admission.Wsgi:
    _end_with(parent)
    app = make_app()
    probe.start()
    return app
