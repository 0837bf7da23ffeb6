"""An RPC server that loses nothing when it stops."""

import contextlib
import logging
from typing import Any

LOG = logging.getLogger(__name__)


class Server:
    """One served interface; started once, stopped once.

    :param server: the oslo.messaging server to run
    """

    def __init__(self, server: Any) -> None:
        self._server = server

    def start(self, threads: int | None = None) -> None:
        """Listen; ``threads`` messages are worked on at once."""
        self._server.start(override_pool_size=threads)

    def stop(self) -> None:
        """Take no more messages. Those that the broker has handed over already are worked on."""
        self._server.stop()
        with contextlib.suppress(Exception):  # the broker may be away, and then has nothing for us
            _take_rest(self._server)

    def wait(self) -> None:
        """Return when all messages taken are answered."""
        self._server.wait()


def _take_rest(server: Any) -> None:
    """Cancel the subscription, then work on what came before the broker knew.

    oslo.messaging 18.3 ends only its own polling: the broker goes on handing messages over until
    the connection is closed, and those are acknowledged while it closes, and dropped.
    """
    listener: Any = getattr(server.listener, "_poll_style_listener", None)
    connection = getattr(getattr(listener, "conn", None), "connection", None)
    if connection is None:
        return  # the in-process bus has no connection
    for consumer, tag in connection._consumers.items():  # noqa: SLF001 - see above
        consumer.cancel(tag)
    while listener.incoming:
        server._on_incoming([listener.incoming.pop(0)])  # noqa: SLF001
