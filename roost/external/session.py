"""With whose right Roost speaks to other services: sessions of keystoneauth, and their breaker.

Each service has a group of options (``conf.identity.client_options`` makes it: where it is, how to
prove who we are, how long to wait). Who speaks to it makes one ``ServiceSessions`` of its group and
keeps it, since that keeps connections open, and asks it for a session for each piece of work::

    sessions = ServiceSessions(conf, "glance")
    connection = sessions.connection(sessions.user_session(context), "image")

Nothing is asked of anybody before such a session is used.

A ``hasty`` one has a circuit breaker, which keeps a service that hangs from holding all threads of
a process: a request that has waited its timeout out, and for nothing, opens it. A service that
refuses connections, or answers with errors, costs nobody a thread, so it is asked each time.
"""

from typing import Any, Final
from urllib.parse import urlsplit

import requests
from keystoneauth1 import access, discover, loading, plugin, service_token, session
from keystoneauth1 import exceptions as identity_errors
from keystoneauth1.identity.access import AccessInfoPlugin
from oslo_config import cfg

from roost import exception
from roost.circuit_breaker import FOREVER, CircuitBreaker
from roost.context import RequestContext


class Hanging(requests.RequestException):
    """Nobody asked the service: it is known to hang.

    keystoneauth tries again after a ``ConnectionError`` or a ``Timeout``, which this is not.
    """


class Adapter(session.TCPKeepAliveAdapter):
    """Sends requests past a breaker for each place that they go to, its host and port."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._breakers: dict[str, CircuitBreaker] = {}

    def send(self, request: requests.PreparedRequest, *args: Any, **more: Any) -> requests.Response:
        """Do as the base does.

        :raises Hanging: instead of waiting for a place that hangs
        """
        place = str(urlsplit(request.url or "").netloc)
        breaker = self._breakers.setdefault(place, CircuitBreaker(place))
        try:
            with breaker.passing(_longest(more.get("timeout"))) as call:
                try:
                    answer: requests.Response = super().send(request, *args, **more)
                except requests.Timeout as error:
                    call.blame(error)
                    raise
        except exception.Away as error:
            raise Hanging(error.message) from error
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


def _longest(timeout: Any) -> float:
    """Return how long a request waits at one time, of how ``requests`` is told it."""
    waits = timeout if isinstance(timeout, tuple) else (timeout,)
    return FOREVER if None in waits else float(max(waits))


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
