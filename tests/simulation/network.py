"""The broker of a world, beneath our RPC: everything from the client's call to the served method.

Clients are oslo.messaging's own and talk to a transport that is ours; what arrives goes through its
own dispatcher. Queues outlive the daemons that read them, and replies can be lost as well.
"""

import collections
import contextlib
import dataclasses
import functools
import json
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import oslo_messaging as messaging
from oslo_messaging._drivers import common
from oslo_messaging.rpc.dispatcher import ExpectedException

from roost import exception
from roost.callers import Callers
from roost.context import admin_context
from roost.rpc import consumer_check
from roost.rpc.consumer_check import SelfPing
from roost.rpc.interface import Interface, endpoint
from roost.rpc.serializer import CopyingSerializer, ObjectSerializer
from roost.rpc.transport import REMOTE_KINDS, Bus
from tests.simulation.fault_model import Calm
from tests.simulation.loop import Loop
from tests.simulation.substitutes import Event


@dataclasses.dataclass
class Incoming:
    """One copy of a message, as the dispatcher wants it."""

    ctxt: Any
    message: dict[str, Any]
    reply: Callable[[Any, Any], None] | None
    client_timeout: None = None


class Queue:
    """What is sent to one name: served by whoever listens there, kept while nobody does."""

    def __init__(self) -> None:
        self.servers: list[SimServer] = []
        self.waiting: collections.deque[Incoming] = collections.deque()


class Network:
    """All buses of a world."""

    def __init__(self, loop: Loop, sea: Calm, note: Callable[[str], None]) -> None:
        self.loop, self.sea, self.note = loop, sea, note
        self.away: set[str] = set()
        self.under_way = 0
        self._queues: dict[tuple[str, str | None], Queue] = {}

    def queue(self, topic: str, server: str | None) -> Queue:
        return self._queues.setdefault((topic, server), Queue())

    def send(self, target: Any, ctxt: Any, message: dict[str, Any], timeout: float | None) -> Any:
        """Send a message; with ``timeout``, wait so long for the answer."""
        task = self.loop.task
        assert task is not None
        what = f"{target.topic}{'@' + target.server if target.server else ''}.{message['method']}"
        if task.within is not None:
            raise self.loop.forbidden(f"{what} is sent within a transaction")
        self.sea.point(task.owner, f"before sending {what}")
        if target.exchange in self.away or (target.topic, target.server) not in self._queues:
            raise messaging.MessageDeliveryFailure(f"nothing takes {what}")
        refused = self.sea.refuses(what)
        answer = _Answer(self, what) if timeout is not None else None
        if not refused or self.sea.delays(what):
            self._send_copies(target, what, json.dumps([ctxt, message]), answer)
        self.sea.point(task.owner, f"after sending {what}")
        if refused:
            raise messaging.MessageDeliveryFailure(f"the broker went away with {what}")
        return None if answer is None else answer.wait(timeout or 0)

    def _send_copies(self, target: Any, what: str, wire: str, answer: "_Answer | None") -> None:
        self.sea.totals["messages"] += 1
        delays = self.sea.delays(what)
        self.note(f"{what} {[round(delay, 3) for delay in delays]}")
        for delay in delays:
            ctxt, message = json.loads(wire)
            incoming = Incoming(ctxt, message, answer.take if answer else None)
            queue = self.queue(target.topic, target.server)
            self.under_way += 1
            self.loop.after(delay, functools.partial(self._arrive, queue, incoming))

    def _arrive(self, queue: Queue, incoming: Incoming) -> None:
        self.under_way -= 1
        if queue.servers:
            self.loop.random.choice(queue.servers).take(incoming)
        else:
            queue.waiting.append(incoming)

    def listen(self, topic: str, name: str, server: "SimServer") -> None:
        for queue in (self.queue(topic, None), self.queue(topic, name)):
            queue.servers.append(server)
            while queue.waiting:
                server.take(queue.waiting.popleft())

    def forget(self, server: "SimServer") -> None:
        for queue in self._queues.values():
            if server in queue.servers:
                queue.servers.remove(server)


class _Answer:
    """What comes back, once, if anything does."""

    def __init__(self, network: Network, what: str) -> None:
        self._network, self._what = network, what
        self._came = Event()
        self._result: Any = None
        self._failure: str | None = None

    def take(self, result: Any, failure: Any) -> None:
        wire = json.dumps(result)
        told = None if failure is None else common.serialize_remote_exception(failure)
        for delay in self._network.sea.delays(f"reply to {self._what}"):
            self._network.loop.after(delay, lambda: self._arrive(json.loads(wire), told))

    def _arrive(self, result: Any, failure: str | None) -> None:
        if not self._came.is_set():
            self._result, self._failure = result, failure
            self._came.set()

    def wait(self, timeout: float) -> Any:
        if not self._came.wait(timeout):
            raise messaging.MessagingTimeout(f"no answer to {self._what}")
        if self._failure is not None:
            raise common.deserialize_remote_exception(self._failure, REMOTE_KINDS)
        return self._result


class SimTransport(messaging.transport.RPCTransport):
    def __init__(self, conf: Any, network: Network) -> None:
        self.conf, self._network = conf, network

    def _send(
        self,
        target: Any,
        ctxt: Any,
        message: Any,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        **_options: Any,
    ) -> Any:
        return self._network.send(target, ctxt, message, timeout if wait_for_reply else None)

    def cleanup(self) -> None:
        """Nothing is open."""


class SimEars:
    """What a scheduler knows of its hearing."""

    def __init__(self, loop: Loop, echo: Callable[[], object]) -> None:
        self._loop, self.call = loop, echo
        self._heard_at = float("-inf")

    def note(self) -> None:
        self._heard_at = self._loop.now

    def received_within(self, seconds: float) -> bool:
        return self._loop.now - self._heard_at <= seconds


class SimBus(Bus):
    """Our bus, on a transport of the world."""

    def __init__(self, network: Network, conf: Any, url: str | None = None) -> None:
        self.network = network
        self.transport = SimTransport(conf, network)
        way = urlsplit(str(url or conf.transport_url))
        self.name = way.path.strip("/")
        self.callers = Callers(way.username, conf.bus.api_users)
        self.objects = ObjectSerializer()
        self.serializer = CopyingSerializer(self.objects, self.callers)

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        return messaging.get_rpc_client(
            self.transport,
            self._target(topic),
            serializer=self.serializer,
            version_cap=version_cap,
        )

    def server(self, interface: type[Interface], manager: object, name: str) -> Any:
        offered = [endpoint(interface, manager, self.callers), SelfPing()]
        policy = messaging.ExplicitRPCAccessPolicy
        dispatcher = messaging.RPCDispatcher(offered, self.serializer, policy)
        client = self.client(interface.topic).prepare(
            server=name, namespace=consumer_check.NAMESPACE, version=consumer_check.VERSION
        )
        hearing = SimEars(self.network.loop, lambda: self._echo_once(client))
        return SimServer(self.network, dispatcher, f"{self.name}.{interface.topic}", name, hearing)

    @staticmethod
    def _echo_once(client: Any) -> None:
        with contextlib.suppress(messaging.MessagingException):
            client.cast(admin_context(), "echo")

    def ping(self, *, seconds: float) -> None:
        if self.name in self.network.away:
            raise exception.Unavailable(f"the bus {self.name} is away")

    def expect_replies(self) -> None:
        """There is nothing to open."""

    def check_replies(self) -> None:
        """Whether answers come is seen when they do not."""

    def close(self) -> None:
        """Nothing is open."""


class SimServer:
    """Serves one interface in its process, so many messages at once."""

    def __init__(
        self, network: Network, dispatcher: Any, topic: str, name: str, hearing: SimEars
    ) -> None:
        self._network, self._dispatcher, self.consumer_state = network, dispatcher, hearing
        self._topic, self._name = topic, name
        self._backlog: collections.deque[Incoming] = collections.deque()
        self._idle = 0
        self._quiet = Event()
        self._busy = 0
        self.owner: Any = None

    def start(self, threads: int | None = None) -> None:
        task = self._network.loop.task
        assert task is not None
        self._idle, self.owner = threads or 8, task.owner
        self.owner.servers.append(self)
        self._network.listen(self._topic, self._name, self)

    def stop(self) -> None:
        self._network.forget(self)

    def wait(self) -> None:
        while self._busy:
            self._quiet.wait()

    def take(self, incoming: Incoming) -> None:
        self.consumer_state.note()
        if isinstance(incoming.ctxt, dict):
            incoming.ctxt["received_at"] = self._network.loop.own_clock(self.owner)
        self._backlog.append(incoming)
        self._go_on()

    def _go_on(self) -> None:
        while self._backlog and self._idle:
            incoming = self._backlog.popleft()
            self._idle, self._busy = self._idle - 1, self._busy + 1
            name = str(incoming.message.get("method"))
            self._network.loop.spawn(self.owner, lambda i=incoming: self._serve(i), name)

    def _serve(self, incoming: Incoming) -> None:
        result, failure = self._dispatch(incoming)
        self._idle, self._busy = self._idle + 1, self._busy - 1
        if incoming.reply is not None:
            incoming.reply(result, failure)
        elif failure is not None and not isinstance(failure[1], messaging.RPCDispatcherError):
            self.owner.note(f"a cast failed: {failure[1]!r}")
        if not self._busy:
            self._quiet.set()
        self._go_on()

    def _dispatch(self, incoming: Incoming) -> tuple[Any, Any]:
        try:
            return self._dispatcher.dispatch(incoming), None
        except ExpectedException as error:
            return None, error.exc_info
        except Exception:  # noqa: BLE001 - as the library's own server
            return None, sys.exc_info()
