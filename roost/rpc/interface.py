"""RPC interfaces: a declaration from which client and server derive.

A declared method *is* the client stub: calling it sends the message. A server is compared with the
same signatures before it starts to listen, and exposes nothing that is not declared. So the two
sides cannot drift apart.

A declaration also names the callers of a method, and the argument that must name the caller. The
server compares both with the bus user, whom the broker authenticates, before the method runs.
"""

import copy
import functools
import inspect
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, ParamSpec, Protocol, Self, TypeVar

import oslo_messaging as messaging

from roost import exception
from roost.callers import Callers, Level
from roost.context import RequestContext, current
from roost.rpc.access import AccessCheck, find, names

LOG = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
CALL_TIMEOUT = 60  # seconds


class ContractBroken(TypeError):
    """A declaration is inconsistent, or a server does not honour it."""


TokenCarrier = bool | Mapping[str, Collection[str]]


class Declaration(NamedTuple):
    """The declaration of a method, without its signature; see :func:`call` and :func:`cast`."""

    kind: str
    since: str
    added: dict[str, str]
    timeout: int | None
    silence: int | None
    carries_token: TokenCarrier
    own_host: str | None
    own_cell: str | None
    for_readers: bool = False


class _Sending(NamedTuple):
    method: str
    version: str
    declared: Declaration


class ClientMaker(Protocol):
    """The methods of a bus that an interface uses."""

    def client(self, topic: str, version_cap: str | None = None) -> Any: ...

    def check_replies(self) -> None: ...


def call(
    since: str,
    added: dict[str, str] | None = None,
    timeout: int = CALL_TIMEOUT,
    *,
    silence: int | None = None,
    carries_token: TokenCarrier = False,
    own_host: str | None = None,
    own_cell: str | None = None,
    for_readers: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a method that waits for its answer, ``timeout`` seconds at most.

    :param silence: seconds without a heartbeat of the receiver after which the call fails; ignored
        by a bus within this process
    :param carries_token: whether the message carries the user's token and catalog: only where the
        receiver calls other services in the user's name; or a map from an argument (``kind``, or
        ``operation.kind``) to the values with which it does
    :param own_host: hosts may call it, too; this argument (``host``, or ``report.host``) must name
        the calling host; ``NOTHING``: no argument does
    :param own_cell: this argument must be the uuid of the caller's cell; ``ROWS``: the receiver
        checks the cell of the rows
    :param for_readers: the users of ``[bus] readers`` may call it, too

    Sending raises :class:`roost.exception.Unavailable` when the bus did not accept the message
    and :class:`roost.exception.Timeout` when no answer came.
    """
    declared = Declaration(
        "call",
        since,
        added or {},
        timeout,
        silence,
        carries_token,
        own_host,
        own_cell,
        for_readers,
    )
    return functools.partial(_declare, declared)


def cast(
    since: str,
    added: dict[str, str] | None = None,
    *,
    carries_token: TokenCarrier = False,
    own_host: str | None = None,
    own_cell: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a method that returns once the message is sent: a hint, which may be lost.

    ``carries_token``, ``own_host`` and ``own_cell`` are those of :func:`call`.

    Sending raises :class:`roost.exception.Unavailable` when the bus did not accept it.
    """
    declared = Declaration(
        "cast", since, added or {}, None, None, carries_token, own_host, own_cell
    )
    return functools.partial(_declare, declared)


def _declare(declared: Declaration, method: Callable[P, R]) -> Any:
    signature = inspect.signature(method)
    added = declared.added

    @functools.wraps(method)
    def send(self: "Interface", context: RequestContext, **arguments: Any) -> Any:
        signature.bind(self, context, **arguments)
        used = {
            key: value
            for key, value in arguments.items()
            if key not in added or value != signature.parameters[key].default
        }
        needed = [declared.since, *(added[key] for key in used if key in added)]
        sending = _Sending(method.__name__, max(needed, key=_as_numbers), declared)
        return self._send(sending, context, used)

    send.declared, send.signature = declared, signature  # type: ignore[attr-defined]
    return send


class Interface:
    """Base of every declaration: a topic, a version, declared methods.

    Give each method the version it appeared in, and each later argument the version that added it.
    A message then requires the lowest version that supports the arguments actually used, so an old
    host serves everything but the new argument.

    :cvar callers: levels that may call its methods; hosts may call those with ``own_host``, readers
        those ``for_readers``
    :cvar in_cell: whether it is served within a cell, to callers of that cell only
    """

    topic: ClassVar[str]
    version: ClassVar[str]
    callers: ClassVar[frozenset[Level]] = frozenset()
    in_cell: ClassVar[bool] = False
    methods: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls.methods = {
            name: method for name, method in vars(cls).items() if hasattr(method, "declared")
        }
        for name, method in cls.methods.items():
            for version in (method.declared.since, *method.declared.added.values()):
                if _as_numbers(version) > _as_numbers(cls.version):
                    raise ContractBroken(
                        f"{cls.__name__}.{name} needs {version}, "
                        f"but the interface is at {cls.version}"
                    )
            if Level.CELL in cls.callers and not cls.in_cell and method.declared.own_cell is None:
                raise ContractBroken(
                    f"{cls.__name__}.{name} does not declare the argument of the caller's cell"
                )

    @classmethod
    def callers_of(cls, name: str) -> frozenset[Level]:
        """Return the levels that may call a method."""
        declared = cls.methods[name].declared
        hosts = {Level.HOST} if declared.own_host else set()
        readers = {Level.READER} if declared.for_readers else set()
        return cls.callers | hosts | readers

    def __init__(self, bus: ClientMaker, *, version_cap: str | None = None) -> None:
        self._bus = bus
        self._server: str | None = None
        self._fanout = False
        self._patience: int | None = None
        self._client = bus.client(self.topic, version_cap)

    def on(self, server: str) -> Self:
        """Return the same interface, addressed to one server."""
        addressed = copy.copy(self)
        addressed._server = server  # noqa: SLF001 - our own copy
        return addressed

    def everywhere(self) -> Self:
        """Return the same interface whose casts go to all servers, however many there are."""
        addressed = copy.copy(self)
        addressed._fanout = True  # noqa: SLF001 - our own copy
        return addressed

    def within(self, seconds: int) -> Self:
        """Return the same interface with this timeout for its calls, if theirs is longer."""
        impatient = copy.copy(self)
        impatient._patience = seconds  # noqa: SLF001 - our own copy
        return impatient

    def _send(self, sending: _Sending, context: RequestContext, arguments: dict[str, Any]) -> Any:
        timeout = sending.declared.timeout
        if timeout is not None and self._patience is not None:
            timeout = min(timeout, self._patience)
        called = f"{self.topic}{'@' + self._server if self._server else ''}.{sending.method}"
        prepared = self._client.prepare(
            server=self._server,
            version=sending.version,
            timeout=timeout,
            call_monitor_timeout=sending.declared.silence,
            **({"fanout": True} if self._fanout else {}),
        )
        token = _carries_token(sending.declared, arguments)
        context = context.until(timeout, token=token)  # a cast has none, even within a call
        if timeout is not None:
            self._bus.check_replies()
        try:
            return getattr(prepared, sending.declared.kind)(context, sending.method, **arguments)
        except messaging.MessagingTimeout as error:
            raise exception.Timeout(f"{called} did not answer in time") from error
        except (messaging.RPCVersionCapError, messaging.UnsupportedVersion) as error:
            raise exception.VersionTooOld(f"{called} must be {sending.version}: {error}") from error
        except messaging.MessageUndeliverable as error:
            raise exception.Unavailable(f"no server listens for {called}") from error
        except messaging.MessageDeliveryFailure as error:
            raise exception.Unavailable(f"the bus did not accept {called}: {error}") from error


def _carries_token(declared: Declaration, arguments: Mapping[str, Any]) -> bool:
    if isinstance(declared.carries_token, bool):
        return declared.carries_token
    return all(find(arguments, name) in values for name, values in declared.carries_token.items())


def endpoint(interface: type[Interface], manager: object, callers: Callers | None = None) -> object:
    """Expose the declared methods of ``manager``, and nothing else.

    :param callers: identifies callers by their bus users
    :raises ContractBroken: when a method is missing or its arguments differ
    """
    offer: dict[str, Any] = {"target": messaging.Target(version=interface.version)}
    for name, method in interface.methods.items():
        offered = getattr(manager, name, None)
        if offered is None:
            raise ContractBroken(f"{type(manager).__name__} lacks {name}()")
        if _shape(inspect.signature(offered)) != _shape(method.signature)[1:]:
            raise ContractBroken(
                f"{type(manager).__name__}.{name} is not as {interface.__name__} declares it"
            )
        admission = _admission(interface, name, manager, callers or Callers())
        served = _served(offered, method.declared.kind, admission)
        offer[name] = staticmethod(messaging.expose(served))
    return type(interface.__name__, (), offer)()


def _admission(
    interface: type[Interface], name: str, manager: object, callers: Callers
) -> AccessCheck:
    declared = interface.methods[name].declared
    check_cell = getattr(manager, "check_cell", None)
    if names(declared.own_cell) and check_cell is None:
        raise ContractBroken(f"{type(manager).__name__} lacks check_cell(), for {name}()")
    return AccessCheck(
        name,
        interface.callers_of(name),
        own_host=declared.own_host,
        own_cell=declared.own_cell,
        in_cell=callers.own_cell if interface.in_cell else None,
        check_cell=check_cell,
    )


def _shape(signature: inspect.Signature) -> list[tuple[object, ...]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def _served(method: Callable[..., Any], kind: str, admission: AccessCheck) -> Callable[..., Any]:
    """Return the manager's method with its checks; :class:`RoostError` goes to the caller."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def serve(context: RequestContext, **arguments: Any) -> Any:
        with current(context):
            _admit(admission, context, arguments)
            try:
                if context.expired:
                    raise exception.Timeout(
                        f"{method.__name__} arrived after its caller's deadline"
                    )
                _check_arguments(method.__name__, signature, arguments)
                return method(context, **arguments)
            except exception.RoostError as error:
                if kind == "cast":
                    LOG.warning("%s failed: %s: %s", method.__name__, error.code, error.message)
                    return None
                raise messaging.ExpectedException from error

    return serve


def _admit(admission: AccessCheck, context: RequestContext, arguments: dict[str, Any]) -> None:
    """Check a message's caller; a refusal is logged, and returned to the caller of a call."""
    try:
        admission.check(context.caller, arguments)
    except exception.RoostError as error:
        LOG.warning("a message was refused: %s", error.message)
        raise messaging.ExpectedException from error


def _check_arguments(name: str, signature: inspect.Signature, arguments: dict[str, Any]) -> None:
    """Raise :class:`roost.exception.Invalid`, naming the wrong argument, unless all fit."""
    try:
        signature.bind(None, **arguments)
    except TypeError as error:
        raise exception.Invalid(f"{name}(): {error}") from error


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
