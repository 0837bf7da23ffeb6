"""Authentication by Keystone's tokens: ``[api] auth_strategy = keystone``.

keystonemiddleware validates tokens with Keystone, by the options of ``[keystone_authtoken]``, and
caches the results. It runs inside the middleware of the API rather than before everything, so that
its refusals have the format of all others.
"""

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import falcon
from keystoneauth1 import exceptions as identity_errors
from keystoneauth1.access import AccessInfoV3
from oslo_config import cfg

from roost import exception, plugins
from roost.api.admission import UNKNOWN
from roost.api.policy import Policy
from roost.clock import boot_clock
from roost.context import RequestContext
from roost.external import session

GROUP: Final = "keystone_authtoken"
# Defaults that differ from the library's, which waits for ever and has no access rules.
DEFAULTS: Final = {
    "http_connect_timeout": 10,
    "http_request_max_retries": 1,
    "service_type": "compute",
    "cache": "roost.tokens",
}
# Services that we call with a user's token; a whole catalog would make every message too large.
SPOKEN_TO: Final = frozenset(
    {"image", "network", "volumev3", "block-storage", "block-store", "key-manager"}
)
_CONNECTIONS: Final = 32  # open to Keystone
_IDENTITY: Final = "roost.identity"  # in a request's environ: Keystone's answer, or its refusal
_TOKENS: Final = 10_000  # cached by one worker
_PROJECTS: Final = 100_000
_PROJECT_SECONDS: Final = 3600
_PASSED: Final = 204
_REFUSED: Final = 401


def set_defaults() -> None:
    """Set Roost's defaults of the library's options: for the sample generator."""
    from keystonemiddleware import auth_token

    for _, options in auth_token.AUTH_TOKEN_OPTS:
        cfg.set_defaults(options, **DEFAULTS)


class Keystone:
    """Authenticates callers by their Keystone tokens.

    :param conf: has ``[keystone_authtoken]``; all its options are registered here
    :param policy: decides which callers are administrators
    :param open_paths: paths that need no token
    :raises roost.exception.Invalid: when the options do not say how to reach Keystone, or need a
        package that is not installed
    """

    def __init__(
        self, conf: cfg.ConfigOpts, *, policy: Policy, open_paths: Collection[str]
    ) -> None:
        self._ask = _protocol(conf)
        self.options = conf[GROUP]
        _check_cache(self.options)
        self._policy = policy
        self._open_paths = frozenset(open_paths)
        self._tokens = None if self.options.memcached_servers else Remembered(_TOKENS)
        self._projects = Remembered(_PROJECTS)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Make the context of a request.

        :raises roost.exception.Unauthenticated: when there is no token, or no valid one
        :raises roost.exception.Unavailable: when Keystone does not answer
        """
        ids = {
            "request_id": req.context.request_id,
            "global_request_id": req.context.global_request_id,
        }
        if req.path in self._open_paths:
            req.context.caller = RequestContext(is_admin=False, **ids)
            return
        found = req.env.get(_IDENTITY) or self._ask_of(req.env)
        if isinstance(found, exception.RoostError):
            raise found
        req.context.caller = self._context(found.user, found.service, **ids)

    def caller(self, environ: Mapping[str, Any]) -> str | None:
        """Return the project whose share of the API's slots a request uses; never asks Keystone.

        It is remembered for tokens that were valid lately. A request without a token needs no slot:
        it is refused at once, or for an open path.
        """
        token = environ.get("HTTP_X_AUTH_TOKEN")
        if not token or environ.get("PATH_INFO") in self._open_paths:
            return None
        return self._projects.get(_hash(token)) or UNKNOWN

    def identify(self, environ: dict[str, Any]) -> str | None:
        """Validate a token with Keystone, and keep the result in the request's environ."""
        found = environ[_IDENTITY] = self._ask_of(environ)
        if isinstance(found, exception.RoostError):
            return None
        project = found.user.project_id
        whose = f"project {project}" if project else f"user {found.user.user_id}"
        self._projects.set(_hash(environ["HTTP_X_AUTH_TOKEN"]), whose, time=_PROJECT_SECONDS)
        return whose

    def _ask_of(self, environ: Mapping[str, Any]) -> Any:
        """Return Keystone's answer about the tokens of a request, or the error that refuses it."""
        try:
            return self._identify(environ)
        except exception.RoostError as error:
            return error

    def _identify(self, environ: Mapping[str, Any]) -> Any:
        """Return keystonemiddleware's result for the tokens of a request."""
        asked = {
            **environ,
            "wsgi.input": io.BytesIO(),
            "CONTENT_LENGTH": "0",
        }  # without the body
        if self._tokens is not None:
            asked[self.options.cache] = self._tokens
        refusal = _Refusal()
        try:
            for _ in self._ask(asked, refusal):
                pass
        except identity_errors.ClientException as error:
            raise exception.Unavailable(f"Keystone does not answer: {error}") from error
        refusal.check()
        return asked["keystone.token_auth"]

    def _context(
        self, user: AccessInfoV3, service: AccessInfoV3 | None, **ids: Any
    ) -> RequestContext:
        made = RequestContext(
            **_person(user),
            **(_service(service) if service else {}),
            auth_token=user.auth_token,
            system_scope="all" if user.system and user.system.get("all") else None,
            roles=list(user.role_names or ()),
            is_admin=False,
            is_admin_project=user.is_admin_project,
            service_catalog=_catalog(user),
            **ids,
        )
        made.is_admin = self._policy.is_admin(made)
        return made


class Remembered:
    """An LRU cache of values that expire, with the interface of memcached clients.

    keystonemiddleware requires the names and arguments of its methods.
    """

    def __init__(self, most: int, now: Callable[[], float] = boot_clock) -> None:
        self._most = most
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    def get(self, key: str) -> Any:
        """Return the value of a key; None: there is none."""
        with self._lock:
            until, value = self._kept.get(key, (0.0, None))
            if value is None:
                return None
            if until <= self._now():
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return value

    def set(self, key: str, value: Any, time: float = 0) -> None:
        """Store a value for ``time`` seconds."""
        with self._lock:
            self._kept[key] = (self._now() + time, value)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


class _Refusal:
    """The answer of keystonemiddleware if it refuses; passed to it as ``start_response``."""

    def __init__(self) -> None:
        self._status = 0
        self._headers: dict[str, str] = {}

    def __call__(self, status: str, headers: list[tuple[str, str]], _error: Any = None) -> Any:
        self._status, self._headers = int(status.split(maxsplit=1)[0]), dict(headers)

    def check(self) -> None:
        """Raise keystonemiddleware's refusal, unless it let the request pass."""
        if self._status == _PASSED:
            return
        if self._status != _REFUSED:
            raise exception.Unavailable(f"Keystone does not answer: status {self._status}")
        raise exception.Unauthenticated(
            "The request you have made requires authentication.",
            challenge=self._headers.get("WWW-Authenticate", "Keystone"),
        )


def _protocol(conf: cfg.ConfigOpts) -> Any:
    """Return keystonemiddleware's filter, before an application that accepts every request."""
    from keystonemiddleware import auth_token  # its import has side effects

    for group, options in auth_token.list_opts():
        conf.register_opts(options, group=group)
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)
    if not (conf[GROUP].auth_type or conf[GROUP].auth_section):
        raise exception.Invalid(
            f"[api] auth_strategy is keystone, but [{GROUP}] has no auth_type: say there how to"
            " reach Keystone; or set auth_strategy to noauth, which lets every caller do everything"
        )
    try:
        session.check_available(conf, GROUP)
        # Requests without a valid token are always refused there, whatever the file says.
        return _hasty(auth_token.AuthProtocol)(
            _let_pass, {"oslo_config_config": conf, "delay_auth_decision": "false"}
        )
    except (identity_errors.ClientException, auth_token.ConfigurationError) as error:
        raise exception.Invalid(f"[{GROUP}] cannot be used: {error}") from error


def _check_cache(options: Any) -> None:
    """Make sure of the client of memcached, which the library imports for the first token."""
    if options.memcached_servers:
        binary = options.memcache_sasl_enabled or options.memcache_tls_enabled
        client = "bmemcached" if binary else "memcache"
        plugins.require(client, option=f"[{GROUP}] memcached_servers")


def _hasty(protocol: Any) -> Any:
    """Return the same filter, which refuses tokens rather than wait while Keystone hangs."""

    class Hasty(protocol):  # type: ignore[misc]
        def _create_session(self, **values: Any) -> Any:
            sending = session.sending(session.Adapter, connections=_CONNECTIONS)
            return super()._create_session(session=sending, **values)

    return Hasty


def _let_pass(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("204 No Content", [])
    return []


def _person(user: AccessInfoV3) -> dict[str, Any]:
    return {
        "user_id": user.user_id,
        "user_name": user.username,
        "user_domain_id": user.user_domain_id,
        "user_domain_name": user.user_domain_name,
        "project_id": user.project_id,
        "project_name": user.project_name,
        "project_domain_id": user.project_domain_id,
        "project_domain_name": user.project_domain_name,
        "domain_id": user.domain_id,
        "domain_name": user.domain_name,
    }


def _service(service: AccessInfoV3) -> dict[str, Any]:
    """Return the attributes of the service that calls on behalf of a user."""
    return {
        "service_token": service.auth_token,
        "service_user_id": service.user_id,
        "service_user_name": service.username,
        "service_user_domain_id": service.user_domain_id,
        "service_project_id": service.project_id,
        "service_project_name": service.project_name,
        "service_project_domain_id": service.project_domain_id,
        "service_roles": list(service.role_names or ()),
    }


def _catalog(user: AccessInfoV3) -> list[dict[str, Any]]:
    if not user.has_service_catalog():
        return []
    return [entry for entry in user.service_catalog.catalog if entry.get("type") in SPOKEN_TO]


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
