"""keystoneauth sessions for external services, with the user's or our own credentials.

Each service has a group of options (from ``conf.identity.client_options``: endpoint,
credentials, time-outs). Its client makes one ``ServiceSessions`` of the group and keeps it, since
that keeps connections open, and gets a session from it for each piece of work::

    sessions = ServiceSessions(conf, "glance")
    connection = sessions.connection(sessions.user_session(context), "image")

Nothing is sent before such a session is used.

A ``hasty`` one has a circuit breaker, so that a service that hangs cannot block all threads of a
process: a request that times out opens it. A service that refuses connections or answers with
errors blocks no thread, so requests to it are always sent.
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
    """The request was not sent: the service is known to hang.

    Not a ``ConnectionError`` or ``Timeout``, after which keystoneauth would retry.
    """


class Adapter(session.TCPKeepAliveAdapter):
    """Sends requests through a circuit breaker per host and port."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._breakers: dict[str, CircuitBreaker] = {}

    def send(self, request: requests.PreparedRequest, *args: Any, **more: Any) -> requests.Response:
        """Send a request as the base class does.

        :raises Hanging: instead of waiting for a host that hangs
        """
        netloc = str(urlsplit(request.url or "").netloc)
        breaker = self._breakers.setdefault(netloc, CircuitBreaker(netloc))
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
    """Return a session that keeps so many connections open per host; many threads share it.

    :param tls: keyword arguments of the adapter, for TLS
    """
    made = requests.Session()
    for scheme in ("https://", "http://"):
        made.mount(scheme, adapter(pool_maxsize=connections, **tls))
    return made


def _longest(timeout: Any) -> float:
    """Return the longest wait in seconds of a ``timeout`` argument of ``requests``."""
    waits = timeout if isinstance(timeout, tuple) else (timeout,)
    return FOREVER if None in waits else float(max(waits))


SERVICE_USER: Final = "service_user"
_CONNECTIONS: Final = 32  # that stay open to one service; further ones are closed after use
# The options of a group for requests to its service; openstacksdk has the same names.
_ASKING: Final = (
    *("service_type", "service_name", "endpoint_override"),
    *("connect_retries", "connect_retry_delay"),
    *("status_code_retries", "status_code_retry_delay", "retriable_status_codes"),
)
_NEVER: Final = "9999-12-31T23:59:59.000000Z"


class ServiceSessions:
    """The sessions of one service.

    :param group: the service's group of options; without an ``auth_type`` there, the credentials
        are those of ``[service_user]``
    :param hasty: fail at once rather than wait for a service that hangs: see
        :mod:`roost.external.session`. For callers that must not block and can retry.
    :raises roost.exception.Invalid: when the options name an unknown or invalid ``auth_type``
    """

    def __init__(self, conf: cfg.ConfigOpts, group: str, *, hasty: bool = False) -> None:
        self._group = group
        self._settings = conf, group
        self._options = conf[group]
        self._service = _plugin(conf, SERVICE_USER)
        self._group_auth = _plugin(conf, group)
        self._own = self._group_auth or self._service
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
        """Return a session with the credentials of the user of ``context``.

        It sends the user's token and, when ``[service_user]`` is set, our service token, so that
        work goes on when the user's token expires meanwhile. Endpoints are those of the catalog
        that came with the token. A context without a token (sweepers, periodic tasks) gets our own
        session.

        :raises roost.exception.Unavailable: when we have no credentials either
        """
        if not context.auth_token:
            return self.own_session()
        user = _Believed(context)
        if self._service is None:
            return self._session(user)
        return self._session(service_token.ServiceTokenAuthWrapper(user, self._service))

    def own_session(self) -> session.Session:
        """Return a session with our own credentials.

        :raises roost.exception.Unavailable: when the options have no credentials
        """
        if self._own is None:
            raise exception.Unavailable(
                f"neither [{self._group}] nor [{SERVICE_USER}] has an auth_type: Roost cannot"
                " authenticate"
            )
        return self._session(self._own)

    def group_session(self) -> session.Session:
        """Return a session with the credentials of the group only; without any if it has none.

        For services that are not part of the cloud: they never get the token of ``[service_user]``.
        """
        return self._session(self._group_auth)

    def connection(self, session: session.Session, service: str, **more: Any) -> Any:
        """Return openstacksdk's connection to one service, with the group's options.

        :param service: the SDK's name of its proxy: ``image``, ``network``
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
            discovery_cache=self._discovered,  # else each user's session repeats the discovery
        )


def user_session(conf: cfg.ConfigOpts, group: str, context: RequestContext) -> session.Session:
    """Return :meth:`ServiceSessions.user_session` for a single piece of work."""
    return ServiceSessions(conf, group).user_session(context)


def own_session(conf: cfg.ConfigOpts, group: str) -> session.Session:
    """Return :meth:`ServiceSessions.own_session` for a single piece of work."""
    return ServiceSessions(conf, group).own_session()


class _Believed(AccessInfoPlugin):
    """A user's token as received, with its catalog. It cannot be renewed."""

    def __init__(self, context: RequestContext) -> None:
        token = {
            "token": {
                "methods": ["token"],
                "expires_at": _NEVER,  # the receiver checks it; we cannot renew it anyway
                "user": {"id": context.user_id, "name": context.user_id},
                "project": {"id": context.project_id, "name": context.project_id},
                "catalog": list(context.service_catalog),
            }
        }
        super().__init__(access.AccessInfoV3(body=token, auth_token=context.auth_token))


def check_available(conf: cfg.ConfigOpts, group: str) -> None:
    """Make sure that what a way to authenticate needs is installed; many import it late.

    :raises roost.exception.Invalid: when it is not
    """
    section = conf[group].auth_section or group
    loading.register_auth_conf_options(conf, section)
    name = conf[section].auth_type
    if name and not loading.get_plugin_loader(name).available:
        raise exception.Invalid(
            f"[{section}] auth_type = {name}: its packages are not installed, as pip install"
            " 'keystoneauth1[kerberos,oauth1,saml2]' does"
        )


def _plugin(conf: cfg.ConfigOpts, group: str) -> plugin.BaseAuthPlugin | None:
    try:
        check_available(conf, group)
        return loading.load_auth_from_conf_options(conf, group)
    except identity_errors.AuthPluginException as error:
        raise exception.Invalid(f"[{group}] cannot be used to authenticate: {error}") from error
