"""Middleware of oslo.middleware around the API's application: health, CORS, proxy headers."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from oslo_config import cfg
from oslo_middleware import cors, healthcheck, http_proxy_to_wsgi
from oslo_middleware.opts import list_opts_cors as cors_list
from oslo_middleware.opts import list_opts_healthcheck as health_list
from oslo_middleware.opts import list_opts_http_proxy_to_wsgi as proxy_list

from roost.api.admission import Wsgi
from roost.api.microversions import HEADER, LEGACY_HEADER
from roost.api.middleware import REQUEST_ID_HEADERS, TOKEN

HEALTH: Final = "healthcheck"
_VERSIONS: Final = [HEADER, LEGACY_HEADER]
_MADE_FOR: Final = {
    "allow_headers": [TOKEN, "X-OpenStack-Request-ID", "X-Identity-Status", *_VERSIONS],
    "expose_headers": [TOKEN, *REQUEST_ID_HEADERS, *_VERSIONS, "Location", "Retry-After"],
    "allow_methods": ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"],
}


def surrounded(conf: cfg.ConfigOpts, app: Wsgi) -> Wsgi:
    """Add the health check, and CORS for ``[cors] allowed_origin``, to an application.

    Both come before admission: load balancers check a flooded API, too. Without an allowed origin
    there is no CORS middleware. With ``[oslo_middleware] enable_proxy_headers_parsing``, scheme,
    host and address of a request are those of the request to the proxy before us.
    """
    register(conf)
    return _with_health(conf, _behind_proxy(conf, _with_cors(conf, app)))


def register(conf: cfg.ConfigOpts) -> None:
    """Register the libraries' options, with Roost's defaults."""
    set_defaults()
    for group, options in (*cors_list(), *health_list(), *proxy_list()):
        conf.register_opts(options, group=group)


def set_defaults() -> None:
    """Set the headers and methods that browsers may use."""
    cors.set_defaults(**_MADE_FOR)


def _with_health(conf: cfg.ConfigOpts, app: Wsgi) -> Wsgi:
    health = healthcheck.Healthcheck(None, conf)

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        asked = str(environ.get("PATH_INFO", "")).strip("/") == HEALTH
        chosen: Wsgi = health if asked else app
        return chosen(environ, start_response)

    return serve


def _with_cors(conf: cfg.ConfigOpts, app: Wsgi) -> Wsgi:
    wrapped = cors.CORS(app, conf)
    served: Wsgi = wrapped if wrapped.allowed_origins else app
    return served


def _behind_proxy(conf: cfg.ConfigOpts, app: Wsgi) -> Wsgi:
    wrapped = http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf)
    served: Wsgi = wrapped if conf.oslo_middleware.enable_proxy_headers_parsing else app
    return served
