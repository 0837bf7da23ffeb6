"""Declare an RPC interface once; both sides derive from the declaration.

A declared method *is* the client stub: calling it sends the message. A server is compared with the
same signatures before it starts to listen, and exposes nothing that is not declared. So the two
sides cannot drift apart.
"""

import copy
import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, ParamSpec, Protocol, Self, TypeVar

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions

from roost import exception
from roost.context import RequestContext

LOG = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
CALL_TIMEOUT = 60  # seconds


class ContractBroken(TypeError):
    """A declaration is inconsistent, or a server does not honour it."""


class _Sending(NamedTuple):
    kind: str
    method: str
    version: str
    timeout: int | None


class ClientMaker(Protocol):
    """What an interface needs of a bus."""

    def client(self, topic: str, version_cap: str | None = None) -> Any: ...

    def check_replies(self) -> None: ...


def call(
    since: str, added: dict[str, str] | None = None, timeout: int = CALL_TIMEOUT
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a method that waits for its answer, ``timeout`` seconds at most.

    Sending raises :class:`roost.exception.Unavailable` when the message could not be handed to the
    bus and :class:`roost.exception.Timeout` when no answer came.
    """
    return functools.partial(_declare, "call", since, added or {}, timeout)


def cast(
    since: str, added: dict[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a method that returns once the message is on its way: a hint, which may be lost.

    Sending raises :class:`roost.exception.Unavailable` when it could not be handed to the bus.
    """
    return functools.partial(_declare, "cast", since, added or {}, None)


def _declare(
    kind: str,
    since: str,
    added: dict[str, str],
    timeout: int | None,
    declaration: Callable[P, R],
) -> Any:
    signature = inspect.signature(declaration)
    name = declaration.__name__

    @functools.wraps(declaration)
    def send(self: "Interface", context: RequestContext, **arguments: Any) -> Any:
        signature.bind(self, context, **arguments)
        used = {
            key: value
            for key, value in arguments.items()
            if key not in added or value != signature.parameters[key].default
        }
        needed = [since, *(added[key] for key in used if key in added)]
        sending = _Sending(kind, name, max(needed, key=_as_numbers), timeout)
        return self._send(sending, context, used)

    send.since, send.added, send.kind = since, added, kind  # type: ignore[attr-defined]
    send.signature = signature  # type: ignore[attr-defined]
    return send


class Interface:
    """Base of every declaration: a topic, a version, declared methods.

    Give each method the version it appeared in, and each later argument the version that added it.
    A message then asks its peer for the lowest version that understands the arguments actually
    used, so an old host serves everything but the new argument.
    """

    topic: ClassVar[str]
    version: ClassVar[str]
    methods: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls.methods = {
            name: method for name, method in vars(cls).items() if hasattr(method, "since")
        }
        for name, method in cls.methods.items():
            for version in (method.since, *method.added.values()):
                if _as_numbers(version) > _as_numbers(cls.version):
                    raise ContractBroken(
                        f"{cls.__name__}.{name} needs {version}, "
                        f"but the interface is at {cls.version}"
                    )

    def __init__(self, bus: ClientMaker, *, version_cap: str | None = None) -> None:
        self._bus = bus
        self._server: str | None = None
        self._patience: int | None = None
        self._client = bus.client(self.topic, version_cap)

    def on(self, server: str) -> Self:
        """Return the same interface, addressed to one server."""
        addressed = copy.copy(self)
        addressed._server = server  # noqa: SLF001 - our own copy
        return addressed

    def within(self, seconds: int) -> Self:
        """Return the same interface, whose calls wait no longer than this for their answers."""
        impatient = copy.copy(self)
        impatient._patience = seconds  # noqa: SLF001 - our own copy
        return impatient

    def _send(self, sending: _Sending, context: RequestContext, arguments: dict[str, Any]) -> Any:
        if sending.timeout is not None and self._patience is not None:
            sending = sending._replace(timeout=min(sending.timeout, self._patience))
        called = f"{self.topic}{'@' + self._server if self._server else ''}.{sending.method}"
        prepared = self._client.prepare(
            server=self._server, version=sending.version, timeout=sending.timeout
        )
        context = context.until(sending.timeout)  # a cast has none, even one made within a call
        if sending.timeout is not None:
            self._bus.check_replies()
        try:
            return getattr(prepared, sending.kind)(context, sending.method, **arguments)
        except messaging.MessagingTimeout as error:
            raise exception.Timeout(f"{called} did not answer in {sending.timeout} s") from error
        except (messaging.RPCVersionCapError, messaging.UnsupportedVersion) as error:
            raise exception.VersionTooOld(f"{called} must be {sending.version}: {error}") from error
        except messaging.MessageUndeliverable as error:
            raise exception.Unavailable(f"nobody listens for {called}") from error
        except (messaging.MessageDeliveryFailure, kombu_exceptions.OperationalError) as error:
            raise exception.Unavailable(f"the bus did not take {called}: {error}") from error


def endpoint(interface: type[Interface], manager: object) -> object:
    """Expose the declared methods of ``manager``, and nothing else.

    :raises ContractBroken: when a method is missing or its arguments differ
    """
    offer: dict[str, Any] = {"target": messaging.Target(version=interface.version)}
    for name, declared in interface.methods.items():
        offered = getattr(manager, name, None)
        if offered is None:
            raise ContractBroken(f"{type(manager).__name__} lacks {name}()")
        if _shape(inspect.signature(offered)) != _shape(declared.signature)[1:]:
            raise ContractBroken(
                f"{type(manager).__name__}.{name} is not as {interface.__name__} declares it"
            )
        offer[name] = staticmethod(messaging.expose(_served(offered, declared.kind)))
    return type(interface.__name__, (), offer)()


def _shape(signature: inspect.Signature) -> list[tuple[object, ...]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def _served(method: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """Run the manager's method; our own kinds of failure are answers, not accidents."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def serve(context: RequestContext, **arguments: Any) -> Any:
        try:
            if context.expired:
                raise exception.Timeout(f"{method.__name__} arrived after its caller's deadline")
            _check_arguments(method.__name__, signature, arguments)
            return method(context, **arguments)
        except exception.RoostError as error:
            if kind == "cast":
                LOG.warning("%s failed: %s: %s", method.__name__, error.code, error.message)
                return None
            raise messaging.ExpectedException from error

    return serve


def _check_arguments(name: str, signature: inspect.Signature, arguments: dict[str, Any]) -> None:
    """Raise :class:`roost.exception.Invalid`, which names the argument that is wrong."""
    try:
        signature.bind(None, **arguments)
    except TypeError as error:
        raise exception.Invalid(f"{name}(): {error}") from error


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
