"""A bus: one oslo.messaging transport, and all that is to know about using it.

The path of the URL (RabbitMQ's virtual host) is also the exchange and the prefix of every topic.
So two buses stay apart on any driver, the in-process ``fake://`` included, whose exchanges are
global to the process.
"""

import logging
import threading
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from roost import exception
from roost.context import RequestContext, admin_context
from roost.rpc.interface import Interface, endpoint
from roost.rpc.serializer import ContextSerializer, CopyingSerializer, ObjectSerializer
from roost.rpc.server import Server

LOG = logging.getLogger(__name__)
REMOTE_KINDS = ["roost.exception"]


class Bus:
    """Clients and servers of our interfaces on one message bus.

    Nothing is connected before the first use, so a bus may be made before a fork.
    """

    def __init__(self, conf: cfg.ConfigOpts, url: str | None = None) -> None:
        _register_driver_options(conf)
        self.transport = messaging.get_rpc_transport(
            conf, url, allowed_remote_exmods=list(REMOTE_KINDS)
        )
        target = messaging.TransportURL.parse(conf, url)
        self.in_process = target.transport == "fake"
        self.name = _name(target)
        self.objects = ObjectSerializer()
        wire = CopyingSerializer if self.in_process else ContextSerializer
        self.serializer: ContextSerializer = wire(self.objects)
        self._replies = threading.Event()
        self._warming: threading.Thread | None = None

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        """Return a client that waits neither for a bus that is away nor where nobody listens."""
        return messaging.get_rpc_client(
            self.transport,
            self._target(topic),
            serializer=self.serializer,
            version_cap=version_cap,
            transport_options=messaging.TransportOptions(at_least_once=not self.in_process),
            retry=1,
        )

    def server(self, interface: type[Interface], manager: object, name: str) -> Server:
        """Return a server, not started, that offers exactly what ``interface`` declares.

        :raises roost.rpc.interface.ContractBroken: when ``manager`` does not honour it
        """
        served = messaging.get_rpc_server(
            self.transport,
            self._target(interface.topic, server=name),
            [endpoint(interface, manager)],
            serializer=self.serializer,
            access_policy=messaging.ExplicitRPCAccessPolicy,
        )
        return Server(served)

    def expect_replies(self) -> None:
        """Open the way for answers, in the background, however long the broker takes.

        oslo.messaging opens it inside the first call, and blocks there for ever while the broker is
        away. So the first call is one that nobody waits for.
        """
        if self.in_process or self._warming is not None:
            return
        self._warming = threading.Thread(target=self._warm, daemon=True, name="roost-replies")
        self._warming.start()

    def check_replies(self) -> None:
        """Raise :class:`roost.exception.Unavailable` while no answer could reach us."""
        if self.in_process or self._replies.is_set():
            return
        self.expect_replies()
        if not self._replies.wait(timeout=10):
            raise exception.Unavailable(f"the bus {self.name!r} cannot be reached yet")

    def close(self) -> None:
        self.transport.cleanup()

    def _target(self, topic: str, server: str | None = None) -> messaging.Target:
        name = f"{self.name}.{topic}"
        return messaging.Target(topic=name, server=server, exchange=self.name)

    def _warm(self) -> None:
        client = messaging.get_rpc_client(
            self.transport, self._target("nobody"), serializer=self.serializer, timeout=1, retry=1
        )
        context: RequestContext = admin_context()
        while not self._replies.is_set():
            try:
                client.call(context, "nothing")
            except messaging.MessagingTimeout:
                self._replies.set()
            except Exception as error:  # noqa: BLE001 - whatever it is, the broker is not there yet
                LOG.info("bus %s: no way for replies yet: %s", self.name, error)
                threading.Event().wait(1)


def _name(target: messaging.TransportURL) -> str:
    """``rabbit://.../cell1`` and ``fake://cell1/`` are both the bus cell1."""
    if target.virtual_host and target.virtual_host.strip("/"):
        return str(target.virtual_host.strip("/"))
    if target.transport == "fake" and target.hosts and target.hosts[0].hostname:
        return str(target.hosts[0].hostname)
    return "roost"


def _register_driver_options(conf: cfg.ConfigOpts) -> None:
    """Register what oslo.messaging 18.3 itself registers on the global configuration only."""
    from oslo_messaging._metrics import client as metrics
    from oslo_messaging._tracing import client as tracing

    conf.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    conf.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
