"""A WSGI application in processes of its own, served by Granian.

The parent waits for what the application needs, listens, and replaces workers that die. Each worker
makes its application after the fork, from a command line that it reads itself; so SIGHUP, which
replaces the workers one after the other, takes up all options but those of the server.
"""

import contextlib
import functools
import http.client
import logging
import signal
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from cotyledon import oslo_config_glue
from granian.constants import Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.server import Server
from oslo_config import cfg

from roost.cmd import _checks, _http, _memory
from roost.cmd._daemon import Closable
from roost.cmd._http import Wsgi
from roost.cmd._notify import Systemd
from roost.cmd._waiting import Check, Waiting

LOG = logging.getLogger(__name__)
EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and where we reach it
# Granian logs like everything else, not by handlers of its own.
_LOGGERS: Final = {"_granian": {"propagate": True}, "granian.access": {"propagate": True}}


def run(
    conf: cfg.ConfigOpts,
    *,
    name: str,
    make_app: Callable[[], Wsgi],
    checks: Sequence[Check] = (),
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
    Waiting(name, stopping=threading.Event(), tell=systemd.status).until([*checks, free])
    for opened in closing:
        opened.close()
    identity = _http.Identity.of(conf)
    server = _server(conf, name, systemd, identity)
    probe = _Probe(systemd, conf.api.listen, conf.api.port, secret=identity is not None)
    loader = functools.partial(_load, make_app, probe)
    _memory.share()
    server.serve(target_loader=loader, wrap_loader=False)
    sys.exit(0)


def _server(
    conf: cfg.ConfigOpts, name: str, systemd: Systemd, identity: _http.Identity | None
) -> "_Server":
    return _Server(
        systemd,
        target=name,
        address=str(conf.api.listen),
        port=conf.api.port,
        interface=Interfaces.WSGI,
        workers=conf.workers,
        blocking_threads=_http.threads(conf),
        backpressure=_http.CONNECTIONS,
        http1_settings=HTTP1Settings(
            header_read_timeout=_http.HEADER_SECONDS * 1000, max_buffer_size=_http.MAX_HEADERS
        ),
        respawn_failed_workers=True,
        workers_kill_timeout=conf.graceful_shutdown_timeout or None,
        log_dictconfig={"handlers": {}, "loggers": _LOGGERS},
        ssl_cert=identity.certificate if identity else None,
        ssl_key=identity.key if identity else None,
        ssl_protocol_min=SSLProtocols.tls12,
    )


class _Server(Server):  # type: ignore[misc, valid-type]
    """Granian, which also tells systemd when it is asked to stop."""

    def __init__(self, systemd: Systemd, **options: Any) -> None:
        super().__init__(**options)
        self._systemd = systemd

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        self._systemd.stopping()
        super().signal_handler_interrupt(*args, **kwargs)


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


def _load(make_app: Callable[[], Wsgi], probe: _Probe) -> Wsgi:
    app = make_app()
    probe.start()
    return app
