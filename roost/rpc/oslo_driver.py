"""What oslo.messaging 18.3 keeps to itself and we must reach: the only place that knows it.

Its public face can neither tell whether answers reach us nor reopen what is disconnected. Whatever
is used here has a test that fails when another release does it differently; and a daemon whose
oslo.messaging lacks a name that is used says so before it starts, not when its bus has broken.
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
# All that sending may raise as it is: oslo.messaging translates what goes wrong on a connection
# that it has, and hardly anything that goes wrong while it makes one. A broker refuses whom it does
# not know (403), and a virtual host that is gone (530).
FAILURES: Final[tuple[type[Exception], ...]] = (
    *(messaging.MessagingException, messaging.exceptions.ConfigurationError),
    *(amqp.AMQPDestinationNotFound, common.RPCException, common.ClientException),
    *(impl_rabbit.amqp_ex.AMQPError, impl_rabbit.amqp_ex.MessageNacked),
    *(kombu_exceptions.KombuError, kombu_exceptions.HttpError),
    OSError,
)
# What an answer, or its absence, is raised as, and where nobody listens.
ANSWERS: Final[tuple[type[Exception], ...]] = (
    *(messaging.MessagingTimeout, messaging.MessageUndeliverable, messaging.RemoteError),
    *(messaging.RPCVersionCapError, messaging.UnsupportedVersion),
)
ANONYMOUS: Final = "guest"  # who logs in by a URL that names nobody
_PAUSE: Final = 1.0  # seconds
_SURE: Final = messaging.TransportOptions(at_least_once=True)
# All that is reached, here and in roost/rpc/server.py, beside what is public.
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
    RPCServer: ("_create_listener", "_on_incoming", "_process_incoming", "_target", "listener"),
}


def missing() -> list[str]:
    """Return what the oslo.messaging that is installed does not have."""
    return [
        f"{owner.__name__}.{name}"
        for owner, names in REACHED.items()
        for name in names
        if not (hasattr(owner, name) or _is_made(owner, name))
    ]


def _is_made(owner: Any, name: str) -> bool:
    """Tell whether instances of a class get something of this name when made or connected."""
    makers = (
        vars(kind).get(maker)
        for kind in getattr(owner, "__mro__", ())
        for maker in ("__init__", "_set_current_channel")
    )
    return any(name in maker.__code__.co_names for maker in makers if hasattr(maker, "__code__"))


@functools.cache
def check() -> None:
    """Find out, once, whether all that is reached is there.

    :raises roost.exception.Unsupported: when it is not
    """
    if lacking := missing():
        version = importlib.metadata.version("oslo.messaging")
        raise exception.Unsupported(
            f"oslo.messaging {version} lacks {', '.join(lacking)}: install the release that Roost's"
            " requirements name"
        )


def set_defaults() -> None:
    """Give the driver's options our defaults, before they are registered; it may be repeated."""
    cfg.set_defaults(impl_rabbit.rabbit_opts, **RABBIT_DEFAULTS)


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register what oslo.messaging itself registers on the global configuration only.

    :raises roost.exception.Unsupported: when this oslo.messaging is not one that we can use
    """
    check()
    set_defaults()
    conf.register_opts(tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    conf.register_opts(metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")


class _Calm(impl_rabbit.Connection):  # type: ignore[misc]
    """Does not ask at once for what has failed at once, like a virtual host that is gone.

    Whoever listens tries again without a pause, and would do nothing else, and log nothing else.
    And it says in each message who sends it, which RabbitMQ compares with who has logged in.
    """

    def _set_current_channel(self, new_channel: Any) -> None:
        is_new = new_channel is not None and new_channel != self.channel
        super()._set_current_channel(new_channel)
        if is_new:
            user = self.connection.userid or ANONYMOUS
            self._producer.publish = functools.partial(self._producer.publish, user_id=user)

    def consume(self, timeout: float | None = None) -> None:
        try:
            super().consume(timeout)
        except common.Timeout:
            raise
        except Exception:
            time.sleep(_PAUSE)
            raise


def sender_of(incoming: Any) -> str | None:
    """Return the user who sent a message, as RabbitMQ vouches or an in-process bus says."""
    raw = getattr(incoming.message, "_raw_message", None)
    if raw is not None:
        user: str | None = raw.properties.get("user_id")
        return user
    named: str | None = incoming.ctxt.get(BUS_USER)
    return named


def keep_calm(transport: Any) -> None:
    """Let connections to come pause after failures; those of other drivers are left alone."""
    pool = getattr(transport._driver, "_connection_pool", None)  # noqa: SLF001 - see above
    if pool is not None:
        pool.connection_cls = _Calm


def close_idle(transport: Any) -> None:
    """Close the connections that nobody sends by just now; who sends next opens a new one.

    Where a connection is dead without a word, who sends by it finds out by waiting.
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
    """Put the user of the bus into the names of our queues of answers: rights go by names."""
    driver = transport._driver  # noqa: SLF001 - see above
    plain = driver._get_reply_queue_name  # noqa: SLF001
    driver._get_reply_queue_name = lambda: plain().replace(  # noqa: SLF001
        "reply_", f"reply_{user}_", 1
    )


def answer_oneself(transport: Any, *, timeout: int) -> None:
    """Send an answer to our own queue of answers, and wait for it.

    It goes by an exchange of the queue's name. Who may use the default exchange, as servers do,
    reaches every queue of the bus, and that right clients need not have.

    :raises oslo_messaging.MessagingException: when it was not taken, or does not come in time
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
    """Make sure that the queue is there, before the exchange that would be left behind."""
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
    """Let answers come to a new queue, by a new connection; return when they can.

    The queue has a new name, because servers remember for a while which ones they could not reach.
    Calls under way go on waiting: what still comes by the old way is theirs.
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
    """Open another connection for a server; return when its queues are there."""
    return server._create_listener()  # noqa: SLF001 - see above


def in_background(work: Callable[[], object]) -> None:
    """Do something about a broken connection, which may take long, or fail."""
    concurrency.abandonable(work, name="roost-closing")


def _end_waiter(waiter: Any, connection: Any) -> None:
    waiter.stop()
    connection.close()
