"""Runs a daemon in processes of its own: signals, workers, systemd.

SIGTERM finishes running requests, SIGHUP reads the options again, SIGINT ends at once. The daemon
notifies systemd when it serves, when it stops, and which check it waits for.

With native threads the workers are cotyledon's, which oslo.service uses there, too; we use it
directly because a reload by oslo.service replaces the worker, while ours goes on serving. With
eventlet they are oslo.service's. Workers share the memory of everything loaded before the fork.
"""

import functools
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, MutableMapping
from typing import NoReturn, Self

import cotyledon
from cotyledon import oslo_config_glue, types
from oslo_config import cfg
from oslo_service import service

from roost import concurrency
from roost.cmd._daemon import Daemon
from roost.cmd._options import explained


def share() -> None:
    """Let the workers that are forked next share the memory of everything loaded by now.

    A garbage collection writes into every object that it examines, which makes each worker copy
    its inherited memory; it does not examine frozen objects (:func:`gc.freeze`).
    """
    gc.collect()
    gc.freeze()


LOG = logging.getLogger(__name__)


class Systemd:
    """The service manager's notification socket; without one, all messages are dropped.

    Both backends of oslo.service send READY as soon as they have forked, long before we serve, and
    then drop the socket. So we remove it from the environment first, and notify ourselves. Our
    workers do, too, hence ``NotifyAccess=all`` in the units.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self._pid = os.getpid()

    @classmethod
    def take(cls, environment: MutableMapping[str, str] = os.environ) -> Self:
        """Remove the socket from the environment and keep it."""
        return cls(environment.pop("NOTIFY_SOCKET", None))

    def ready(self) -> None:
        """Send READY: requests are answered from now on; once per worker does no harm."""
        self._send("READY=1\nSTATUS=serving")

    def status(self, text: str) -> None:
        """Send a status text for ``systemctl status``."""
        self._send(f"STATUS={text}")

    def stopping(self) -> None:
        """Send STOPPING; only the first process may, not its workers."""
        if os.getpid() == self._pid:
            self._send("STOPPING=1\nSTATUS=stopping")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            try:
                notify.sendto(message.encode(), address)
            except OSError as error:
                LOG.warning("cannot notify systemd of %r: %s", message, error)


MakeDaemon = Callable[[cfg.ConfigOpts], Daemon]


def run(conf: cfg.ConfigOpts, make_daemon: MakeDaemon, *, workers: int | None = None) -> NoReturn:
    """Run until SIGTERM, or until the daemon is abandoned, then exit.

    The daemon is created once here, so that invalid options are reported at once and by name, and
    again in each worker, because nothing may be shared across a fork.

    :param workers: how many processes; None: ``[DEFAULT] workers``
    """
    systemd = Systemd.take()
    explained(lambda: make_daemon(conf))
    share()
    launch = _green if concurrency.selected() == concurrency.EVENTLET else _threaded
    launch(conf, make_daemon, workers=workers or conf.workers, systemd=systemd)


def grace(conf: cfg.ConfigOpts) -> float | None:
    """Return the seconds that running work gets when the daemon stops; None: no limit.

    The backends kill a process after ``graceful_shutdown_timeout``: we end before.
    """
    seconds: int = conf.graceful_shutdown_timeout
    return seconds * 0.8 if seconds else None


def _mutate(conf: cfg.ConfigOpts) -> None:
    """Read the files again; oslo.config warns of changes that require a restart."""
    conf.mutate_config_files()


def _threaded(
    conf: cfg.ConfigOpts, make_daemon: MakeDaemon, *, workers: int, systemd: Systemd
) -> NoReturn:
    oslo_config_glue.register_opts(conf)
    manager = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout)
    manager.register_hooks(on_terminate=systemd.stopping, on_reload=lambda: _mutate(conf))
    manager.add(_Worker, workers, args=(conf, make_daemon, systemd))
    manager.run()
    sys.exit()


class _Worker(cotyledon.Service):
    """One process of the daemon, created after the fork."""

    name = "worker"

    def __init__(
        self,
        worker_id: types.WorkerId,
        conf: cfg.ConfigOpts,
        make_daemon: MakeDaemon,
        systemd: Systemd,
    ) -> None:
        super().__init__(worker_id)
        self._conf = conf
        self._systemd = systemd
        self._daemon = make_daemon(conf)
        # the parent would start it again otherwise
        self._daemon.on_give_up = functools.partial(os.kill, os.getppid(), signal.SIGTERM)

    def run(self) -> None:
        if self._daemon.start(self._systemd.status):
            self._systemd.ready()

    def terminate(self) -> None:
        self._daemon.stop(grace(self._conf))

    def reload(self) -> None:
        _mutate(self._conf)
        self._daemon.reload()


def _green(
    conf: cfg.ConfigOpts, make_daemon: MakeDaemon, *, workers: int, systemd: Systemd
) -> NoReturn:
    daemon = _Green(conf, make_daemon, systemd)
    launcher = service.launch(conf, daemon, workers=workers, restart_method="mutate")
    sys.exit(launcher.wait())


class _Green(service.ServiceBase):  # type: ignore[misc]
    """The daemon as oslo.service's eventlet launchers want it.

    They call ``wait`` before ``start``, and ``stop`` and ``reset`` also in the parent of the
    workers, where nothing was started. ``reset`` is called after the options were read again.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        make_daemon: MakeDaemon,
        systemd: Systemd,
    ) -> None:
        super().__init__()
        self._conf = conf
        self._make_daemon = make_daemon
        self._systemd = systemd
        self._daemon: Daemon | None = None
        self._over = threading.Event()

    def start(self) -> None:
        self._daemon = self._make_daemon(self._conf)
        self._daemon.on_give_up = functools.partial(os.kill, os.getpid(), signal.SIGTERM)
        if self._daemon.start(self._systemd.status):
            self._systemd.ready()

    def stop(self) -> None:
        self._systemd.stopping()
        if self._daemon is not None:
            self._daemon.stop(grace(self._conf))
        self._over.set()

    def wait(self) -> None:
        self._over.wait()

    def reset(self) -> None:
        if self._daemon is not None:
            self._daemon.reload()
