"""Two daemons that speak to each other over private brokers, and what can happen to those."""

import contextlib
import signal
import socket
import threading
import time
from urllib.parse import urlsplit

import kombu

from roost import conf, exception
from roost.context import admin_context
from roost.rig.forwarder import Forwarder
from roost.rig.services.rabbitmq import RabbitMQ
from roost.rpc import interface
from roost.rpc.transport import Bus
from tests.external.rabbitmq_cluster import OPTIONS as QUORUM

VHOST = "scene"


class Probe(interface.Interface):
    topic = "probe"
    version = "1.0"

    @interface.call(since="1.0", timeout=30)
    def ask(self, context, *, number: int, seconds: float = 0) -> int: ...

    @interface.cast(since="1.0")
    def tell(self, context, *, number: int) -> None: ...


class Manager:
    def __init__(self):
        self.told = -1
        self.heard = set()  # every number told
        self.began = threading.Event()

    def ask(self, context, *, number, seconds=0):
        if seconds:
            self.began.set()
            time.sleep(seconds)
        return number

    def tell(self, context, *, number):
        self.heard.add(number)
        self.told = max(self.told, number)


class Side:
    """A daemon: it serves, and speaks to the other."""

    def __init__(self, url, name, *, echo):
        self.bus = Bus(conf.of({}), url, echo_interval=echo)
        self.manager = Manager()
        self.name = name
        self.listen()
        self.bus.expect_replies()

    def listen(self):
        self.server = self.bus.server(Probe, self.manager, self.name)
        self.server.start(4)

    def close(self):
        self.server.stop()
        self.server.wait()
        self.bus.close()


class Pair:
    """Two daemons, each of which hears the other.

    :param echo: seconds between two messages to themselves
    """

    def __init__(self, url, *, echo):
        self.sides = [Side(url, name, echo=echo) for name in ("a", "b")]
        self.taken = []  # casts that the broker took: to whom, and the number

    @property
    def consumer_state(self):
        """All that listen, in words and with what they know of themselves."""
        return [
            consumer_state
            for side in self.sides
            for consumer_state in (side.bus.answers, side.server.consumer_state)
        ]

    def works(self, sender, other, kind, number):
        """Send a message from one side to the other; tell whether it came, and was answered."""
        client = Probe(sender.bus).on(other.name)
        with contextlib.suppress(exception.RoostError):
            if kind == "call":
                return client.within(2).ask(admin_context(), number=number) == number
            client.tell(admin_context(), number=number)
            self.taken.append((other, number))
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                if other.manager.told >= number:
                    return True
                time.sleep(0.02)
        return False

    @property
    def directions(self):
        a, b = self.sides
        return [(one, other, kind) for one, other in ((a, b), (b, a)) for kind in ("call", "cast")]


class Scene(Pair):
    """Two daemons on a broker, reached through a way that can be shut.

    :param echo: seconds between two messages to themselves
    :param query: the end of the transport URL, which may have options of the driver
    """

    def __init__(self, folder, *, echo=1.0, query=""):
        self.broker = RabbitMQ.start(folder)
        url = urlsplit(self.broker.create_vhost(VHOST))
        self.way = Forwarder((url.hostname, url.port))
        self.way.open()
        login = url.netloc.rpartition("@")[0]
        self.direct = f"amqp://{login}@{url.hostname}:{url.port}/{VHOST}"
        here = f"rabbit://{login}@127.0.0.1:{self.way.port}/{VHOST}{query}"
        self.robbers, self.stranded = [], []
        super().__init__(here, echo=echo)

    def ctl(self, *arguments):
        self.broker._administration._run(*arguments)

    @contextlib.contextmanager
    def channel(self):
        """A channel to the broker, not through the way."""
        with kombu.Connection(self.direct) as connection:
            yield connection.channel()

    def close(self):
        with contextlib.ExitStack() as last:
            last.callback(self.broker.stop)
            last.callback(self.way.close)
            for each in (*self.stranded, *self.robbers, *self.sides):
                last.callback(each.close)


class ClusterScene(Pair):
    """Two daemons on a cluster, with the options that doc/bus.rst asks for.

    :param echo: seconds between two messages to themselves
    :param options: of the driver
    """

    def __init__(self, cluster, *, echo=1.0, options=QUORUM):
        self.cluster = cluster
        query = "&".join(f"{name}={value}" for name, value in options.items())
        super().__init__(f"{cluster.create_vhost(VHOST)}?{query}", echo=echo)

    def close(self):
        for side in self.sides:
            side.close()


def restart(scene):
    scene.broker.halt()
    scene.broker.revive()


def kill(scene):
    scene.broker.halt(signal.SIGKILL)
    scene.broker.revive()


def delete_queues(scene):
    names = [queue.name for queue in scene.broker.list_queues(VHOST)]
    with scene.channel() as channel:
        for name in names:
            channel.queue_delete(name)


def delete_vhost(scene):
    scene.broker.delete_vhost(VHOST)
    scene.broker.create_vhost(VHOST)


def reset(scene):
    for what in ("stop_app", "reset", "start_app"):
        scene.ctl(what)
    scene.broker.create_vhost(VHOST)


def close_connections(scene):
    scene.ctl("close_all_connections", "a test")


def cut(scene, seconds=20):
    scene.way.close()
    time.sleep(seconds)
    scene.way.open()


def silence(scene, seconds=25):
    scene.way.silence()
    time.sleep(seconds)
    scene.way.resume()


def strand(scene):
    """Let all connections fall silent for ever, but new ones be taken: a router has forgotten."""
    old = scene.way
    old.silence()
    listener, old._listener = old._listener, None
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    scene.way = Forwarder(old._target, port=old.port)
    scene.way.open()
    scene.stranded.append(old)


def unbind(scene):
    """Let the broker forget where messages for a server go: its consumer is not told."""
    with scene.channel() as channel:
        for name in (f"{VHOST}.probe", f"{VHOST}.probe.b"):
            channel.queue_unbind(queue=name, exchange=VHOST, routing_key=name)


def rob(scene):
    """Take all answers away from one side, which is not told; for as long as its queue is there."""
    queue = scene.sides[0].bus.transport._driver._reply_q
    connection = kombu.Connection(scene.direct)
    connection.channel().basic_consume(
        queue, no_ack=True, callback=lambda _: None, arguments={"x-priority": 10}
    )
    scene.robbers.append(connection)
