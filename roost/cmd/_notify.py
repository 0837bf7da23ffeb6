"""What systemd is told: that we serve, what we wait for, that we stop."""

import logging
import os
import socket
from collections.abc import MutableMapping
from typing import Self

LOG = logging.getLogger(__name__)


class Systemd:
    """The service manager's notification socket; without one, every message goes nowhere.

    Both backends of oslo.service say READY as soon as they have forked, long before we serve, and
    then forget the socket. So we take it out of their sight first, and speak for ourselves. Our
    workers speak too, hence ``NotifyAccess=all`` in the units.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self._pid = os.getpid()

    @classmethod
    def take(cls, environment: MutableMapping[str, str] = os.environ) -> Self:
        """Remove the socket from the environment and keep it."""
        return cls(environment.pop("NOTIFY_SOCKET", None))

    def ready(self) -> None:
        """Say that requests sent from now on are answered; once per worker does no harm."""
        self._send("READY=1\nSTATUS=serving")

    def status(self, text: str) -> None:
        """Say what goes on, in words for ``systemctl status``."""
        self._send(f"STATUS={text}")

    def stopping(self) -> None:
        """Say that the daemon ends: the first process may, a worker of it must not."""
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
                LOG.warning("cannot tell systemd %r: %s", message, error)
