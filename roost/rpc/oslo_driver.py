"""Access to private parts of oslo.messaging 18.3; no other module uses them.

Its public API can neither check that replies arrive nor reopen lost connections. Each part used
here has a test that fails when another release differs; and a daemon whose oslo.messaging lacks a
name that is used fails before it starts, not when its bus has broken.
"""

import functools
import importlib.metadata
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions
from oslo_config import cfg
from oslo_messaging._drivers import amqp, base, common, impl_rabbit
from oslo_messaging._drivers.amqpdriver import AMQPListener, ReplyWaiter, ReplyWaiters
from oslo_messaging._drivers.pool import ConnectionPool
from oslo_messaging._metrics import client as metrics
from oslo_messaging._tracing import client as tracing
from oslo_messaging.rpc.server import RPCServer

from roost import concurrency, exception
from roost.callers import BUS_USER

LOG = logging.getLogger(__name__)
# Defaults for [oslo_messaging_rabbit], with reasons in doc/bus.rst; a file may say otherwise.
RABBIT_DEFAULTS: Final[dict[str, Any]] = {
    "heartbeat_timeout_threshold": 15,
    "kombu_missing_consumer_retry_timeout": 20,
    "kombu_reconnect_delay": 0.2,
    "rabbit_interval_max": 2,
    "rabbit_transient_queues_ttl": 600,
    "rpc_conn_pool_size": 16,
}
# All that sending may raise: oslo.messaging translates failures of an open connection, but hardly
# any of those while it connects. A broker refuses unknown users (403) and virtual hosts that do not
# exist (530).
FAILURES: Final[tuple[type[Exception], ...]] = (
    *(messaging.MessagingException, messaging.exceptions.ConfigurationError),
    *(amqp.AMQPDestinationNotFound, common.RPCException, common.ClientException),
    *(impl_rabbit.amqp_ex.AMQPError, impl_rabbit.amqp_ex.MessageNacked),
    *(kombu_exceptions.KombuError, kombu_exceptions.HttpError),
    OSError,
)
# Raised for an answer that is an error, for a missing answer, and when no server listens.
ANSWERS: Final[tuple[type[Exception], ...]] = (
    *(messaging.MessagingTimeout, messaging.MessageUndeliverable, messaging.RemoteError),
    *(messaging.RPCVersionCapError, messaging.UnsupportedVersion),
)
ANONYMOUS: Final = "guest"  # the user of a URL without one
_PAUSE: Final = 1.0  # seconds
_LOOK: Final = 1.0  # seconds; how long to wait for a message at least, before any other work
FANOUT_SECONDS: Final = 10.0  # for which a message to all servers is of use; see doc/bus.rst
_SURE: Final = messaging.TransportOptions(at_least_once=True)
# All private names that are used, here and in roost/rpc/server.py.
REACHED: Final[Mapping[Any, tuple[str, ...]]] = {
    messaging.transport.Transport: ("_driver",),
    impl_rabbit.RabbitDriver: (
        *("_connection_pool", "_get_connection", "_get_reply_queue_name", "_allowed_remote_exmods"),
        *("_waiter", "_reply_q", "_reply_q_conn", "_reply_q_lock"),
    ),
    ConnectionPool: ("_cond", "_items", "_current_size", "connection_cls"),
    ReplyWaiter: ("waiters", "stop"),
    ReplyWaiters: ("add", "get", "remove"),
    impl_rabbit.Connection: (
        *("_ensure_publishing", "_publish", "_set_current_channel", "_transport_socket_timeout"),
        *("_declared_queues", "_consumers", "channel", "connection", "consume", "close"),
        "ensure",
        "_producer",
    ),
    impl_rabbit.RabbitMessage: ("_raw_message",),
    impl_rabbit: ("rabbit_opts", "kombu", "amqp_ex"),
    amqp: ("_add_unique_id", "AMQPDestinationNotFound"),
    common: (
        *("PURPOSE_SEND", "PURPOSE_LISTEN", "Timeout", "serialize_msg"),
        *("RPCException", "ClientException"),
    ),
    base.PollStyleListenerAdapter: ("_poll_style_listener",),
    AMQPListener: ("conn", "incoming"),
    RPCServer: (
        *("_create_listener", "_executor_cls", "_on_incoming", "_process_incoming", "_target"),
        "listener",
    ),
}


def missing() -> list[str]:
    """Return the names that the installed oslo.messaging lacks."""
    return [
        f"{owner.__name__}.{name}"
        for owner, names in REACHED.items()
        for name in names
        if not (hasattr(owner, name) or _is_made(owner, name))
    ]


def _is_made(owner: Any, name: str) -> bool:
    """Return whether instances get an attribute of this name when created or connected."""
    makers = (
        vars(kind).get(maker)
        for kind in getattr(owner, "__mro__", ())
        for maker in ("__init__", "_set_current_channel")
    )
    return any(name in maker.__code__.co_names for maker in makers if hasattr(maker, "__code__"))


@functools.cache
def check() -> None:
    """Check, once, that oslo.messaging has all names that are used.

    :raises roost.exception.Unsupported: when it lacks one
    """
    if lacking := missing():
        version = importlib.metadata.version("oslo.messaging")
        raise exception.Unsupported(
            f"oslo.messaging {version} lacks {', '.join(lacking)}: install the release that Roost's"
            " requirements name"
        )


def set_defaults() -> None:
    """Set Roost's defaults of the driver's options, before they are registered; repeatable."""
    cfg.set_defaults(impl_rabbit.rabbit_opts, **RABBIT_DEFAULTS)


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register options that oslo.messaging itself registers on the global configuration only.

    :raises roost.exception.Unsupported: when Roost cannot use this release of oslo.messaging
    """
    check()
    set_defaults()
    conf.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    conf.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")


class _Calm(impl_rabbit.Connection):  # type: ignore[misc]
    """A connection that waits calmly, and puts its user into each message.

    What goes well takes the short way: kombu's retries are a tenth of a message's cost.

    oslo.messaging retries without a pause, for example when the virtual host does not exist, and
    fills the log. After each message it wakes ten times, from a millisecond on, to acknowledge what
    other threads have handled; RPC is acknowledged as it arrives. RabbitMQ compares the user of a
    message with the user who has logged in. Fanout messages expire, so that the queue of a server
    that has stopped to read stays short.
    """

    def _set_current_channel(self, new_channel: Any) -> None:
        is_new = new_channel is not None and new_channel != self.channel
        super()._set_current_channel(new_channel)
        if is_new:
            user = self.connection.userid or ANONYMOUS
            publish = functools.partial(self._producer.publish, user_id=user)
            self._producer.publish = _expiring(publish, FANOUT_SECONDS, exchange_type="fanout")

    def ensure(self, method: Callable[[], Any], **how: Any) -> Any:
        """Do it at once; only what fails goes through the layers that connect again and retry."""
        if self.channel is not None:
            try:
                return method()
            except (amqp.AMQPDestinationNotFound, messaging.MessageUndeliverable, common.Timeout):
                raise
            except Exception as error:  # noqa: BLE001 - it comes again, and is handled there
                LOG.debug("a message is tried again: %s", error)
        return super().ensure(method, **how)

    def consume(self, timeout: float | None = None) -> None:
        try:
            super().consume(None if timeout is None else max(timeout, _LOOK))
        except common.Timeout:
            raise
        except Exception:
            time.sleep(_PAUSE)
            raise


def _expiring(
    publish: Callable[..., Any], seconds: float, *, exchange_type: str
) -> Callable[..., Any]:
    """Return the same function, whose messages to exchanges of this type expire."""

    def send(*message: Any, exchange: Any, **how: Any) -> Any:
        if exchange.type == exchange_type:
            how["expiration"] = seconds
        return publish(*message, exchange=exchange, **how)

    return send


def let_expire(transport: Any, seconds: float) -> None:
    """Have RabbitMQ drop notifications that nobody has read for so long; not so other brokers."""

    class Expiring(impl_rabbit.Connection):  # type: ignore[misc]
        def _set_current_channel(self, new_channel: Any) -> None:
            is_new = new_channel is not None and new_channel != self.channel
            super()._set_current_channel(new_channel)
            if is_new:
                publish = self._producer.publish
                self._producer.publish = _expiring(publish, seconds, exchange_type="topic")

    pool = getattr(transport._driver, "_connection_pool", None)  # noqa: SLF001 - see above
    if pool is not None:
        pool.connection_cls = Expiring


def sender_of(incoming: Any) -> str | None:
    """Return the user who sent a message, checked by RabbitMQ or set by an in-process bus."""
    raw = getattr(incoming.message, "_raw_message", None)
    if raw is not None:
        user: str | None = raw.properties.get("user_id")
        return user
    named: str | None = incoming.ctxt.get(BUS_USER)
    return named


def keep_calm(transport: Any) -> None:
    """Make new connections pause after failures; drivers without a pool are left as they are."""
    pool = getattr(transport._driver, "_connection_pool", None)  # noqa: SLF001 - see above
    if pool is not None:
        pool.connection_cls = _Calm


def close_idle(transport: Any) -> None:
    """Close idle connections; the next sender opens a new one.

    On a dead connection the sender would first wait for a timeout.
    """
    pool = getattr(transport._driver, "_connection_pool", None)  # noqa: SLF001 - see above
    if pool is None:
        return
    with pool._cond:  # noqa: SLF001
        idle = [connection for _, connection in pool._items]  # noqa: SLF001
        pool._items.clear()  # noqa: SLF001
        pool._current_size -= len(idle)  # noqa: SLF001
        pool._cond.notify_all()  # noqa: SLF001
    for connection in idle:
        in_background(connection.close)


def mark_answers(transport: Any, user: str) -> None:
    """Put the bus user into the names of its reply queues: permissions go by queue names."""
    driver = transport._driver  # noqa: SLF001 - see above
    plain = driver._get_reply_queue_name  # noqa: SLF001
    driver._get_reply_queue_name = lambda: plain().replace(  # noqa: SLF001
        "reply_", f"reply_{user}_", 1
    )


def answer_oneself(transport: Any, *, timeout: int) -> None:
    """Send an answer to our own reply queue, and wait for it.

    It goes through an exchange of the queue's name: the default exchange, which servers use,
    reaches every queue of the bus, and clients need no permission for it.

    :raises oslo_messaging.MessagingException: when it is not accepted, or does not arrive in time
    """
    driver = transport._driver  # noqa: SLF001 - see above
    waiters, queue = driver._waiter.waiters, driver._reply_q  # noqa: SLF001
    answer = {"result": None, "failure": None, "ending": True, "_msg_id": uuid.uuid4().hex}
    amqp._add_unique_id(answer)  # noqa: SLF001
    waiters.add(answer["_msg_id"])
    try:
        with driver._get_connection(common.PURPOSE_SEND, 0) as connection:  # noqa: SLF001
            _send_by_own_exchange(connection, queue, common.serialize_msg(answer), timeout)
        waiters.get(answer["_msg_id"], timeout=timeout)
    finally:
        waiters.remove(answer["_msg_id"])


def _send_by_own_exchange(connection: Any, queue: str, message: Any, timeout: int) -> None:
    exchange = impl_rabbit.kombu.entity.Exchange(
        queue, type="direct", durable=False, auto_delete=True, passive=True
    )

    def send(*arguments: Any) -> None:
        try:
            with connection._transport_socket_timeout(timeout):  # noqa: SLF001
                _bind_once(connection, exchange, queue)
            connection._publish(*arguments)  # noqa: SLF001 - see above
        except impl_rabbit.amqp_ex.NotFound as error:  # which has closed the channel
            connection._set_current_channel(None)  # noqa: SLF001
            raise messaging.MessageUndeliverable(error, queue, queue, message) from error

    how = {"routing_key": queue, "timeout": timeout, "retry": 0, "transport_options": _SURE}
    connection._ensure_publishing(send, exchange, message, **how)  # noqa: SLF001


def _bind_once(connection: Any, exchange: Any, queue: str) -> None:
    """Check that the queue exists, then declare the exchange, which would else be left behind."""
    known: set[tuple[str, str]] = connection._declared_queues  # noqa: SLF001 - of its channel
    if (queue, queue) in known:
        return
    bound = impl_rabbit.kombu.entity.Queue(
        queue, exchange, routing_key=queue, channel=connection.channel
    )
    bound.queue_declare(passive=True)
    exchange(connection.channel).declare(passive=False)
    bound.queue_bind()
    known.add((queue, queue))


def reopen_answers(transport: Any) -> None:
    """Open a new reply queue on a new connection; return when it is ready.

    The queue has a new name, because servers remember for a while the queues they could not reach.
    Calls under way go on waiting: answers that still arrive at the old queue are delivered.
    """
    driver = transport._driver  # noqa: SLF001 - see above
    queue = driver._get_reply_queue_name()  # noqa: SLF001
    connection = driver._get_connection(common.PURPOSE_LISTEN)  # noqa: SLF001
    waiter = ReplyWaiter(queue, connection, driver._allowed_remote_exmods)  # noqa: SLF001
    with driver._reply_q_lock:  # noqa: SLF001
        old = driver._waiter, driver._reply_q_conn  # noqa: SLF001
        waiter.waiters = old[0].waiters
        driver._waiter, driver._reply_q = waiter, queue  # noqa: SLF001
        driver._reply_q_conn = connection  # noqa: SLF001
    in_background(lambda: _end_waiter(*old))


def open_listener(server: Any) -> Any:
    """Open another connection for a server; return when its queues are declared."""
    return server._create_listener()  # noqa: SLF001 - see above


def in_background(work: Callable[[], object]) -> None:
    """Run work on a broken connection in a thread: it may take long, or fail."""
    concurrency.abandonable(work, name="roost-closing")


def _end_waiter(waiter: Any, connection: Any) -> None:
    waiter.stop()
    connection.close()
