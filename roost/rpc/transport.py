"""A bus: one oslo.messaging transport, and all that is to know about using it.

The path of the URL (RabbitMQ's virtual host) is also the exchange and the prefix of every topic.
So two buses stay apart on any driver, the in-process ``fake://`` included, whose exchanges are
global to the process.
"""

import contextlib
import functools
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions
from oslo_config import cfg

from roost import concurrency, exception
from roost.callers import Callers
from roost.context import RequestContext, admin_context
from roost.rpc import driver, ears
from roost.rpc.breaker import Breaker
from roost.rpc.ears import Deaf, Ears, Echo
from roost.rpc.interface import Interface, endpoint
from roost.rpc.ping import ping
from roost.rpc.serializer import ContextSerializer, CopyingSerializer, ObjectSerializer
from roost.rpc.server import Served, Server

LOG = logging.getLogger(__name__)
REMOTE_KINDS = ["roost.exception"]
# What oslo.messaging raises when the broker does not take a message.
BROKEN = (messaging.MessageDeliveryFailure, kombu_exceptions.OperationalError)
CAST_SECONDS = 3.0  # for a cast to be taken
_PING_SECONDS = 2  # for a broker to answer that was away
_WAY_SECONDS = 2  # for the way for answers to be opened, by those who need it at once
# Open ones. What waits on any of them is gone as soon as the transport of one is cleaned up.
_IN_PROCESS: "weakref.WeakSet[Bus]" = weakref.WeakSet()


class Bus:
    """Clients and servers of our interfaces on one message bus.

    Nothing is connected before the first use, so a bus may be made before a fork.
    """

    def __init__(self, conf: cfg.ConfigOpts, url: str | None = None) -> None:
        driver.register_options(conf)
        self.transport = messaging.get_rpc_transport(
            conf, url, allowed_remote_exmods=list(REMOTE_KINDS)
        )
        target = messaging.TransportURL.parse(conf, url)
        self._url = target
        self.in_process = target.transport == "fake"
        driver.keep_calm(self.transport)
        user = _user(target)
        if not self.in_process and user is not None:
            driver.mark_answers(self.transport, user)
        self.name = _name(target)
        self.objects = ObjectSerializer()
        wire = CopyingSerializer if self.in_process else ContextSerializer
        self.callers = Callers(user, conf.bus.api_users)
        self.serializer: ContextSerializer = wire(self.objects, self.callers)
        self._interval: float = conf.bus.echo_interval
        self._breaker = Breaker(self.name, self._reach)
        self._replies = threading.Event()
        self._warming: threading.Thread | None = None
        self._closed = threading.Event()
        self.answers = Ears(
            f"the queue of answers on the bus {self.name!r}",
            self._answer_oneself,
            repair=lambda: driver.reopen_answers(self.transport),
            interval=self._interval,
        )
        self._listeners = [self.answers]
        if self.in_process:
            _IN_PROCESS.add(self)

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        """Return a client that waits neither for a bus that is away nor where nobody listens."""
        client = messaging.get_rpc_client(
            self.transport,
            self._target(topic),
            serializer=self.serializer,
            version_cap=version_cap,
            transport_options=messaging.TransportOptions(at_least_once=not self.in_process),
            retry=1,
        )
        return _Client(client, self)

    def server(self, interface: type[Interface], manager: object, name: str) -> Server:
        """Return a server, not started, that offers exactly what ``interface`` declares.

        :raises roost.rpc.interface.ContractBroken: when ``manager`` does not honour it
        """
        served = messaging.get_rpc_server(
            self.transport,
            self._target(interface.topic, server=name),
            [endpoint(interface, manager, self.callers), Echo()],
            serializer=self.serializer,
            access_policy=messaging.ExplicitRPCAccessPolicy,
            server_cls=Served,
        )
        server = Server(
            served,
            place=f"{interface.topic} on the bus {self.name!r}",
            echo=self._echo(interface.topic, name),
            interval=self._interval,
            can_break=not self.in_process,
        )
        self._listeners.append(server.ears)
        return server

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send something in this block, but not while the bus is known to be away.

        :raises roost.exception.Unavailable: when it is
        """
        self._breaker.check()
        try:
            yield
        except BROKEN:
            self._breaker.trip()
            raise
        except driver.REFUSED as error:
            self._breaker.trip()
            raise messaging.MessageDeliveryFailure(str(error)) from error

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
        self._breaker.check()
        if not self._replies.wait(timeout=_WAY_SECONDS):
            self._breaker.trip()
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
        """Reach a bus that was away. What was connected before may be dead without a word.

        :raises roost.exception.Unavailable: when it still is
        """
        self.ping(seconds=_PING_SECONDS)
        driver.close_idle(self.transport)
        for listener in self._listeners:
            listener.doubt()

    def _echo(self, topic: str, name: str) -> Callable[[], None]:
        client = self.client(topic).prepare(
            server=name, namespace=ears.NAMESPACE, version=ears.VERSION
        )

        def send() -> None:
            try:
                client.cast(admin_context(), "echo")
            except BROKEN as error:
                raise exception.Unavailable(str(error)) from error
            except messaging.MessageUndeliverable as error:
                raise Deaf("its queue is gone") from error

        return send

    def _answer_oneself(self) -> None:
        try:
            with self.sending():
                driver.answer_oneself(self.transport, timeout=ears.TIMEOUT)
        except BROKEN as error:
            raise exception.Unavailable(str(error)) from error
        except messaging.MessageUndeliverable as error:
            raise Deaf("it is gone") from error
        except messaging.MessagingTimeout as error:
            raise Deaf("nothing came") from error
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
            except Exception as error:  # noqa: BLE001 - whatever it is, the broker is not there yet
                LOG.info("bus %s: no way for replies yet: %s", self.name, error)
                self._closed.wait(1)
        self.answers.run()


class _Client:
    """A client of oslo.messaging that does not wait for long until its bus takes a cast.

    oslo.messaging waits until the socket times out, several times over, for a broker that has
    fallen silent. So a thread of its own hands the message over, for which nobody waits longer. It
    may still arrive.
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
        raise messaging.MessageDeliveryFailure(f"nothing was taken in {seconds:g} s") from error


def _user(target: messaging.TransportURL) -> str | None:
    """Return who we are on the bus; None: within this process all may be the same."""
    named = target.hosts[0].username if target.hosts else None
    return named or (None if target.transport == "fake" else driver.ANONYMOUS)


def _name(target: messaging.TransportURL) -> str:
    """``rabbit://.../cell1`` and ``fake://cell1/`` are both the bus cell1."""
    if target.virtual_host and target.virtual_host.strip("/"):
        return str(target.virtual_host.strip("/"))
    if target.transport == "fake" and target.hosts and target.hosts[0].hostname:
        return str(target.hosts[0].hostname)
    return "roost"
