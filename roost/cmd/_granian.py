"""A WSGI application in processes of its own, served by Granian.

The parent waits for what the application needs, listens, and replaces workers that die. Each worker
makes its application after the fork, from a command line that it reads itself; so SIGHUP, which
replaces the workers one after the other, takes up all options but those of the server.
"""

import contextlib
import ctypes
import functools
import http.client
import logging
import os
import signal
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from cotyledon import oslo_config_glue
from granian.server import Server
from oslo_config import cfg

from roost.api import admission
from roost.cmd import _checks, _http, _run
from roost.cmd._asgi import Asgi
from roost.cmd._daemon import Closable
from roost.cmd._http import Wsgi
from roost.cmd._run import Systemd
from roost.cmd._waiting import StartupCheck, StartupWait

LOG = logging.getLogger(__name__)
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and where we reach it


def run(
    conf: cfg.ConfigOpts,
    *,
    name: str,
    make_app: Callable[[], Wsgi],
    checks: Sequence[StartupCheck] = (),
    closing: Sequence[Closable] = (),
) -> NoReturn:
    """Serve ``[api] listen`` and ``port`` until SIGTERM, then finish what is under way and exit.

    :param make_app: called in each worker
    :param checks: what must be so before it serves
    :param closing: what the checks have opened; closed before there are workers
    """
    systemd = Systemd.take()
    oslo_config_glue.register_opts(conf)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until Granian takes them over
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    free = _checks.address(str(conf.api.listen), conf.api.port)
    StartupWait(name, stopping=threading.Event(), tell=systemd.status).until([*checks, free])
    for opened in closing:
        opened.close()
    identity = _http.TlsIdentity.of(conf)
    server = _server(conf, name, systemd, identity)
    probe = _Probe(systemd, conf.api.listen, conf.api.port, secret=identity is not None)
    loader = functools.partial(_load, conf, make_app, probe, os.getpid())
    _run.share()
    server.serve(target_loader=loader, wrap_loader=False)
    sys.exit(0)


def _server(
    conf: cfg.ConfigOpts, name: str, systemd: Systemd, identity: _http.TlsIdentity | None
) -> "_Server":
    listening = _http.listen(str(conf.api.listen), conf.api.port)
    return _Server(
        systemd,
        listening.detach(),
        target=name,
        workers=conf.workers,
        respawn_failed_workers=True,
        workers_kill_timeout=conf.graceful_shutdown_timeout or None,
        **_http.granian_options(identity),
    )


class _Server(_http.Listening, Server):  # type: ignore[misc, valid-type]
    """Granian, which also tells systemd when it is asked to stop."""

    def __init__(self, systemd: Systemd, listening: int, **options: Any) -> None:
        super().__init__(listening, **options)
        self._systemd = systemd

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        self._systemd.stopping()
        super().signal_handler_interrupt(*args, **kwargs)


def _end_with(parent: int) -> None:
    """Let this process end when its parent does, as by SIGKILL: nobody would ever replace it."""
    ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before
        sys.exit(1)


class _Probe:
    """Says READY once the port really answers: Granian listens long before its workers serve."""

    def __init__(self, systemd: Systemd, host: str, port: int, *, secret: bool) -> None:
        self._systemd = systemd
        self._secret = secret
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
            contextlib.closing(self._connection()) as connection,
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", "/")
            connection.getresponse()
            return True
        return False

    def _connection(self) -> http.client.HTTPConnection:
        if not self._secret:
            return http.client.HTTPConnection(self._host, self._port, timeout=2)
        # It only asks whether somebody answers, and tells nothing: no matter who it is.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        return http.client.HTTPSConnection(self._host, self._port, timeout=2, context=context)


def _load(conf: cfg.ConfigOpts, make_app: Callable[[], Wsgi], probe: _Probe, parent: int) -> Asgi:
    _end_with(parent)
    app = Asgi(
        make_app(),
        threads=admission.threads(conf.api.threads, conf.api.max_waiting),
        max_body=conf.api.max_request_body_size,
        bodies=_http.bodies(conf.api.address_share),
    )
    probe.start()
    return app
