"""A message bus: one oslo.messaging transport, its clients and servers.

The path of the URL (RabbitMQ's virtual host) is also the exchange and the prefix of every topic. So
two buses stay apart on any driver, the in-process ``fake://`` included, whose exchanges are global
to the process.

oslo.messaging has no timeout for sending, and waits minutes for a broker that does not answer. So
``ping`` tries a broker over a connection of its own, in a bounded time, without login; and a
circuit breaker remembers that a bus is unavailable: only the first senders wait for it.
"""

import contextlib
import functools
import logging
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, Final

import oslo_messaging as messaging
from oslo_config import cfg

from roost import concurrency, exception
from roost.callers import Callers
from roost.circuit_breaker import CircuitBreaker
from roost.context import RequestContext, admin_context
from roost.rpc import consumer_check, oslo_driver
from roost.rpc.consumer_check import ConsumerCheck, ConsumerLost, SelfPing
from roost.rpc.interface import Interface, endpoint
from roost.rpc.serializer import ContextSerializer, CopyingSerializer, ObjectSerializer
from roost.rpc.server import InterfaceServer, Served

LOG = logging.getLogger(__name__)
PAUSE: Final = 1.0  # seconds between two probes of an unavailable bus
DEFAULT_PORT: Final = 5672
_GREETING: Final = b"AMQP\x00\x00\x09\x01"  # the protocol header, which the broker answers


def ping(url: messaging.TransportURL, *, seconds: float, tls: bool) -> None:
    """Return when one of the brokers of a bus has answered.

    :param seconds: timeout for each broker
    :raises roost.exception.Unavailable: when none does
    """
    reasons = []
    for host in url.hosts:
        address = (host.hostname, host.port or DEFAULT_PORT)
        try:
            _greet(address, seconds=seconds, tls=tls)
        except OSError as error:
            reasons.append(f"{address[0]}:{address[1]}: {error}")
        else:
            return
    raise exception.Unavailable("; ".join(reasons))


def _greet(peer: tuple[str, int], *, seconds: float, tls: bool) -> None:
    with _connected(peer, seconds=seconds, tls=tls) as connection:
        connection.sendall(_GREETING)
        if not connection.recv(1):
            raise ConnectionResetError("the connection was closed without an answer")


def _connected(peer: tuple[str, int], *, seconds: float, tls: bool) -> socket.socket:
    if not tls:
        return socket.create_connection(peer, timeout=seconds)
    error = OSError("it has no address")
    for family, kind, protocol, _name, address in socket.getaddrinfo(*peer, 0, socket.SOCK_STREAM):
        # Wrapped before it connects: ssl would not close one that is lost in between.
        connection = _secured(socket.socket(family, kind, protocol))
        try:
            connection.settimeout(seconds)
            connection.connect(address)
        except OSError as failure:
            connection.close()
            error = failure
        else:
            return connection
    raise error


def _secured(plain: socket.socket) -> socket.socket:
    """Wrap a socket in TLS. Nothing secret is sent: only the login checks the certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


REMOTE_KINDS = ["roost.exception"]
CAST_SECONDS = 3.0  # for the bus to accept a cast
_PING_SECONDS = 2  # for a broker to answer that was unavailable
_REPLY_SECONDS = 2  # that a call waits for the reply queue to be opened
# Open in-process buses. Cleaning up one transport drops the messages that wait on any of them.
_IN_PROCESS: "weakref.WeakSet[Bus]" = weakref.WeakSet()


class Bus:
    """Clients and servers of Roost's interfaces on one message bus.

    It connects at its first use, so a bus may be created before a fork.

    :param echo_interval: seconds between two messages of a consumer to itself
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        url: str | None = None,
        *,
        echo_interval: float = consumer_check.INTERVAL,
    ) -> None:
        self._interval = echo_interval
        oslo_driver.register_options(conf)
        self.transport = messaging.get_rpc_transport(
            conf, url, allowed_remote_exmods=list(REMOTE_KINDS)
        )
        target = messaging.TransportURL.parse(conf, url)
        self._url = target
        self.in_process = target.transport == "fake"
        oslo_driver.keep_calm(self.transport)
        user = _user(target)
        if not self.in_process and user is not None:
            oslo_driver.mark_answers(self.transport, user)
        self.name = _name(target)
        self.objects = ObjectSerializer()
        wire = CopyingSerializer if self.in_process else ContextSerializer
        # a client of another service has no such option: it serves nobody
        listed = (conf.bus.api_users, conf.bus.readers) if "bus" in conf else ()
        self.callers = Callers(user, *listed)
        self.serializer: ContextSerializer = wire(self.objects, self.callers)
        self._breaker = CircuitBreaker(f"the bus {self.name!r}", self._reach, pause=PAUSE)
        self._replies = threading.Event()
        self._warming: threading.Thread | None = None
        self._closed = threading.Event()
        self.answers = ConsumerCheck(
            f"the reply queue on the bus {self.name!r}",
            self._answer_oneself,
            repair=lambda: oslo_driver.reopen_answers(self.transport),
            interval=echo_interval,
        )
        self._listeners = [self.answers]
        if self.in_process:
            _IN_PROCESS.add(self)

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        """Return a client that fails at once when the bus is unavailable or has no such server."""
        client = messaging.get_rpc_client(
            self.transport,
            self._target(topic),
            serializer=self.serializer,
            version_cap=version_cap,
            transport_options=messaging.TransportOptions(at_least_once=not self.in_process),
            retry=1,
        )
        return _Client(client, self)

    def server(self, interface: type[Interface], manager: object, name: str) -> InterfaceServer:
        """Return a server, not started, that exposes exactly the methods of ``interface``.

        :raises roost.rpc.interface.ContractBroken: when ``manager`` does not match it
        """
        served = messaging.get_rpc_server(
            self.transport,
            self._target(interface.topic, server=name),
            [endpoint(interface, manager, self.callers), SelfPing()],
            serializer=self.serializer,
            access_policy=messaging.ExplicitRPCAccessPolicy,
            server_cls=Served,
        )
        server = InterfaceServer(
            served,
            name=f"{interface.topic} on the bus {self.name!r}",
            echo=self._echo(interface.topic, name),
            interval=self._interval,
            can_break=not self.in_process,
        )
        self._listeners.append(server.consumer_state)
        return server

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send a message in this block, unless the bus is known to be unavailable.

        :raises roost.exception.Unavailable: when it is
        :raises oslo_messaging.MessageDeliveryFailure: for any failure to send
        """
        self._breaker.check()
        try:
            yield
        except oslo_driver.ANSWERS:
            raise
        except oslo_driver.FAILURES as error:
            if self.in_process:  # the receiver raised it
                raise
            self._breaker.trip(error)
            raise messaging.MessageDeliveryFailure(exception.details(error)) from error

    def expect_replies(self) -> None:
        """Open the reply queue, in the background, however long the broker takes.

        oslo.messaging opens it inside the first call, and blocks there for ever while the broker is
        unavailable. So a background thread makes the first call.
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
        self._breaker.check()
        if not self._replies.wait(timeout=_REPLY_SECONDS):
            self._breaker.trip("its reply queue is not open yet")
            raise exception.Unavailable(f"the bus {self.name!r} cannot be reached yet")

    def ping(self, *, seconds: float) -> None:
        """Raise :class:`roost.exception.Unavailable` when no broker answers within ``seconds``."""
        if not self.in_process:
            tls = bool(self.transport.conf.oslo_messaging_rabbit.ssl)
            ping(self._url, seconds=seconds, tls=tls)

    def close(self) -> None:
        self._closed.set()
        self.answers.stop()
        self._breaker.close()
        _IN_PROCESS.discard(self)
        if not (self.in_process and _IN_PROCESS):
            self.transport.cleanup()

    def _reach(self) -> None:
        """Probe an unavailable bus; when it answers, close idle connections and check servers.

        :raises roost.exception.Unavailable: when it still is
        """
        self.ping(seconds=_PING_SECONDS)
        oslo_driver.close_idle(self.transport)
        for listener in self._listeners:
            listener.doubt()

    def _echo(self, topic: str, name: str) -> Callable[[], None]:
        client = self.client(topic).prepare(
            server=name, namespace=consumer_check.NAMESPACE, version=consumer_check.VERSION
        )

        def send() -> None:
            try:
                client.cast(admin_context(), "echo")
            except messaging.MessageDeliveryFailure as error:
                raise exception.Unavailable(str(error)) from error
            except messaging.MessageUndeliverable as error:
                raise ConsumerLost("its queue does not exist") from error

        return send

    def _answer_oneself(self) -> None:
        try:
            with self.sending():
                oslo_driver.answer_oneself(self.transport, timeout=consumer_check.TIMEOUT)
        except messaging.MessageDeliveryFailure as error:
            raise exception.Unavailable(str(error)) from error
        except messaging.MessageUndeliverable as error:
            raise ConsumerLost("it does not exist") from error
        except messaging.MessagingTimeout as error:
            raise ConsumerLost("no message arrived") from error
        self.answers.note()

    def _target(self, topic: str, server: str | None = None) -> messaging.Target:
        name = f"{self.name}.{topic}"
        return messaging.Target(topic=name, server=server, exchange=self.name)

    def _warm(self) -> None:
        client = messaging.get_rpc_client(
            self.transport, self._target("nobody"), serializer=self.serializer, timeout=1, retry=1
        )
        context: RequestContext = admin_context()
        while not self._replies.is_set() and not self._closed.is_set():
            try:
                client.call(context, "nothing")
            except messaging.MessagingTimeout:
                self._replies.set()
            except Exception as error:  # noqa: BLE001 - any error: the broker is not available yet
                LOG.info("bus %s: the reply queue is not open yet: %s", self.name, error)
                self._closed.wait(1)
        self.answers.run()


class _Client:
    """A client of oslo.messaging that waits a bounded time for its bus to accept a cast.

    oslo.messaging waits for several socket timeouts when a broker stops answering. So a separate
    thread sends the message, and the caller waits ``CAST_SECONDS`` at most; the message may still
    arrive later.
    """

    def __init__(self, client: Any, bus: Bus) -> None:
        self._client = client
        self._bus = bus

    def prepare(self, **how: Any) -> "_Client":
        return _Client(self._client.prepare(**how), self._bus)

    def call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        with self._bus.sending():
            return self._client.call(context, method, **arguments)

    def cast(self, context: RequestContext, method: str, **arguments: Any) -> None:
        send = functools.partial(self._client.cast, context, method, **arguments)
        with self._bus.sending():
            if self._bus.in_process:
                send()
            else:
                _within(CAST_SECONDS, send)


def _within(seconds: float, send: Callable[[], object]) -> None:
    try:
        concurrency.abandonable(send, name="roost-cast").result(seconds)
    except futures.TimeoutError as error:
        raise messaging.MessageDeliveryFailure(f"not accepted in {seconds:g} s") from error


def _user(target: messaging.TransportURL) -> str | None:
    """Return our user on the bus; None: an in-process bus without users."""
    named = target.hosts[0].username if target.hosts else None
    return named or (None if target.transport == "fake" else oslo_driver.ANONYMOUS)


def _name(target: messaging.TransportURL) -> str:
    """Return the name of a bus: ``cell1`` for ``rabbit://.../cell1`` and ``fake://cell1/``."""
    if target.virtual_host and target.virtual_host.strip("/"):
        return str(target.virtual_host.strip("/"))
    if target.transport == "fake" and target.hosts and target.hosts[0].hostname:
        return str(target.hosts[0].hostname)
    return "roost"
