"""With whose right Roost speaks to other services: sessions of keystoneauth, and their breaker.

Each service has a group of options (``conf.identity.client_options`` makes it: where it is, how to
prove who we are, how long to wait). Who speaks to it makes one ``ServiceSessions`` of its group and
keeps it, since that keeps connections open, and asks it for a session for each piece of work::

    sessions = ServiceSessions(conf, "glance")
    connection = sessions.connection(sessions.user_session(context), "image")

Nothing is asked of anybody before such a session is used.

A ``hasty`` one has a circuit breaker, which keeps a service that hangs from holding all threads of
a process. The first request that has waited its timeout out, and for nothing, opens it. From then
on requests fail at once, for a short pause; then one of them is let through, and what becomes of it
says whether the others may follow. A service that refuses connections, or answers with errors,
costs nobody a thread, so it is asked each time. Other than the breakers of cells
(``roost/cells/breaker.py``), which probe by themselves whether their part is back, this sends
nothing that nobody asked for: only a user's request knows what to ask of a service, and with which
token.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from keystoneauth1 import access, discover, loading, plugin, service_token, session
from keystoneauth1 import exceptions as identity_errors
from keystoneauth1.identity.access import AccessInfoPlugin
from oslo_config import cfg

from roost import exception
from roost.context import RequestContext

LOG = logging.getLogger(__name__)
PAUSE: Final = 5.0  # seconds; api/faults.py tells users to come again after as many
CROWD: Final = 4  # as many may wait for a service that has fallen silent, before it is given up


class Hanging(requests.RequestException):
    """Nobody asked the service: it is known to hang.

    keystoneauth tries again after a ``ConnectionError`` or a ``Timeout``, which this is not.
    """


class _GuardedCall:
    """One request, from the moment it was let through."""

    def __init__(self, begun: float, timeout: float) -> None:
        self.begun = begun
        self.timeout = timeout


class ServiceBreaker:
    """Whether one service hangs.

    :param name: where it is, for the log
    :param clock: seconds, as ``time.monotonic`` has them
    """

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._inside: set[_GuardedCall] = set()
        self._probe: _GuardedCall | None = None
        self._refuses_until: float | None = None  # None: it does not hang
        self._last_answer = float("-inf")

    @contextlib.contextmanager
    def passing(self, timeout: float | None) -> Iterator[None]:
        """Let one request pass; a :class:`requests.Timeout` of it says that the service hangs.

        :param timeout: seconds that it may wait; None: for ever
        :raises Hanging: at once, when the service hangs; nothing was sent
        """
        guarded_call = self._enter(float("inf") if timeout is None else timeout)
        hangs = False
        try:
            yield
        except requests.Timeout:
            hangs = True
            raise
        finally:
            self._leave(guarded_call, hangs=hangs)

    def _enter(self, timeout: float) -> _GuardedCall:
        with self._lock:
            guarded_call = _GuardedCall(self._clock(), timeout)
            if self._refuses_until is None:
                self._refuse_a_crowd(guarded_call.begun)
            elif self._probe is not None or guarded_call.begun < self._refuses_until:
                raise Hanging(f"{self._name} does not answer")
            else:
                self._probe = guarded_call
            self._inside.add(guarded_call)
            return guarded_call

    def _refuse_a_crowd(self, now: float) -> None:
        """Keep threads out of a service that answers nobody: it may hang, and nobody knows yet."""
        if len(self._inside) < CROWD:
            return
        oldest = min(self._inside, key=lambda guarded_call: guarded_call.begun)
        silent = now - max(oldest.begun, self._last_answer)
        if silent > oldest.timeout / 2:
            raise Hanging(f"{self._name} has not answered anybody for {silent:.1f} s")

    def _leave(self, guarded_call: _GuardedCall, *, hangs: bool) -> None:
        with self._lock:
            self._inside.discard(guarded_call)
            probed = self._probe is guarded_call
            if probed:
                self._probe = None
            if hangs:
                self._open()
                return
            self._last_answer = self._clock()
            if probed:
                LOG.info("%s answers again", self._name)
                self._refuses_until = None

    def _open(self) -> None:
        if self._refuses_until is None:
            LOG.warning("%s hangs, asking nothing of it for %g s", self._name, PAUSE)
        self._refuses_until = self._clock() + PAUSE


class Adapter(session.TCPKeepAliveAdapter):
    """Sends requests past a breaker for each place that they go to, its host and port."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._breakers: dict[str, ServiceBreaker] = {}

    def send(self, request: requests.PreparedRequest, *args: Any, **more: Any) -> requests.Response:
        """Do as the base does.

        :raises Hanging: instead of waiting for a place that hangs
        """
        place = urlsplit(request.url or "").netloc
        breaker = self._breakers.setdefault(str(place), ServiceBreaker(str(place)))
        with breaker.passing(_longest(more.get("timeout"))):
            answer: requests.Response = super().send(request, *args, **more)
        return answer


def sending(
    adapter: type[session.TCPKeepAliveAdapter], *, connections: int, **tls: Any
) -> requests.Session:
    """Return what keeps so many connections open to each place; many threads share it.

    :param tls: what they are to be encrypted with, as the adapter names it
    """
    made = requests.Session()
    for scheme in ("https://", "http://"):
        made.mount(scheme, adapter(pool_maxsize=connections, **tls))
    return made


def _longest(timeout: Any) -> float | None:
    """Return how long a request waits at one time, of how ``requests`` is told it."""
    waits = timeout if isinstance(timeout, tuple) else (timeout,)
    return None if None in waits else float(max(waits))


SERVICE_USER: Final = "service_user"
_CONNECTIONS: Final = 32  # kept open to one service; more are opened when needed, and closed
# What a group says of how a service is asked, by the names that openstacksdk has for it, too.
_ASKING: Final = (
    *("service_type", "service_name", "endpoint_override"),
    *("connect_retries", "connect_retry_delay"),
    *("status_code_retries", "status_code_retry_delay", "retriable_status_codes"),
)
_NEVER: Final = "9999-12-31T23:59:59.000000Z"


class ServiceSessions:
    """The sessions of one service.

    :param group: the service's group of options; its ``auth_type`` left out, ``[service_user]``
        says who we are
    :param hasty: rather fail at once than wait for a service that hangs: see
        :mod:`roost.external.session`. For who has others waiting and may be asked again.
    :raises roost.exception.Invalid: when the options name no way to authenticate that there is
    """

    def __init__(self, conf: cfg.ConfigOpts, group: str, *, hasty: bool = False) -> None:
        self._group = group
        self._settings = conf, group
        self._options = conf[group]
        self._service = _plugin(conf, SERVICE_USER)
        self._told = _plugin(conf, group)
        self._own = self._told or self._service
        self._connections = sending(
            Adapter if hasty else session.TCPKeepAliveAdapter,
            connections=_CONNECTIONS,
            tls_ciphers=self._options.tls_ciphers,
            tls_min_version=self._options.tls_min_version,
        )
        self._discovered: dict[str, discover.Discover] = {}

    def hasty(self) -> "ServiceSessions":
        """Return the same, ``hasty``, with connections of its own."""
        return ServiceSessions(*self._settings, hasty=True)

    def user_session(self, context: RequestContext) -> session.Session:
        """Return a session that speaks as the user of ``context``.

        It sends the user's token and, when ``[service_user]`` is filled in, our service token, so
        that work goes on whose user's token runs out meanwhile. Endpoints are those of the catalog
        that came with the token. A context without token, as sweepers and periodic tasks have it,
        gets our own session.

        :raises roost.exception.Unavailable: when we have none either
        """
        if not context.auth_token:
            return self.own_session()
        user = _Believed(context)
        if self._service is None:
            return self._session(user)
        return self._session(service_token.ServiceTokenAuthWrapper(user, self._service))

    def own_session(self) -> session.Session:
        """Return a session that speaks as ourselves, whoever asked.

        :raises roost.exception.Unavailable: when the options do not say who we are
        """
        if self._own is None:
            raise exception.Unavailable(
                f"neither [{self._group}] nor [{SERVICE_USER}] has an auth_type: Roost cannot say"
                " who it is"
            )
        return self._session(self._own)

    def told_session(self) -> session.Session:
        """Return a session that speaks as the group's options say, or as nobody.

        For services that are no part of the cloud: they never see the token of ``[service_user]``.
        """
        return self._session(self._told)

    def connection(self, session: session.Session, service: str, **more: Any) -> Any:
        """Return openstacksdk's connection that asks one service as the group's options say.

        :param service: as the SDK calls its proxy: ``image``, ``network``
        """
        import openstack.connection  # large, and needed only where there is such a service

        said = {name: self._options[name] for name in _ASKING}
        said["interface"] = self._options.valid_interfaces
        return openstack.connection.Connection(
            session=session,
            region_name=self._options.region_name,
            **{f"{service}_{name}": value for name, value in said.items()},
            **more,
        )

    def _session(self, auth: plugin.BaseAuthPlugin | None) -> session.Session:
        options = self._options
        return loading.session.Session().load_from_options(
            insecure=options.insecure,
            cacert=options.cafile,
            cert=options.certfile,
            key=options.keyfile,
            timeout=options.timeout,
            split_loggers=options.split_loggers,
            auth=auth,
            session=self._connections,
            discovery_cache=self._discovered,  # else each user's session asks for it anew
        )


def user_session(conf: cfg.ConfigOpts, group: str, context: RequestContext) -> session.Session:
    """Return :meth:`ServiceSessions.user_session` for a single piece of work."""
    return ServiceSessions(conf, group).user_session(context)


def own_session(conf: cfg.ConfigOpts, group: str) -> session.Session:
    """Return :meth:`ServiceSessions.own_session` for a single piece of work."""
    return ServiceSessions(conf, group).own_session()


class _Believed(AccessInfoPlugin):
    """A user's token as it came in, with its catalog. It cannot be renewed."""

    def __init__(self, context: RequestContext) -> None:
        token = {
            "token": {
                "methods": ["token"],
                "expires_at": _NEVER,  # who gets it will say; we cannot renew it anyway
                "user": {"id": context.user_id, "name": context.user_id},
                "project": {"id": context.project_id, "name": context.project_id},
                "catalog": list(context.service_catalog),
            }
        }
        super().__init__(access.AccessInfoV3(body=token, auth_token=context.auth_token))


def _plugin(conf: cfg.ConfigOpts, group: str) -> plugin.BaseAuthPlugin | None:
    try:
        return loading.load_auth_from_conf_options(conf, group)
    except identity_errors.AuthPluginException as error:
        raise exception.Invalid(f"[{group}] cannot be used to authenticate: {error}") from error
