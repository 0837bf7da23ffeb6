"""Who we are to other services, and how they are spoken to."""

from keystoneauth1 import loading
from oslo_config import cfg

SECONDS = 30.0  # that another service may take to answer
# The usual way to prove who we are, and the groups of those who do it.
PASSWORD = "password"  # noqa: S105 - the name of a plug-in
PROVING = ("keystone_authtoken", "service_user", "glance", "neutron", "vendordata_dynamic_auth")
CONNECTS = 1  # times that a connection that failed is tried again
# Nobody looks at timings; and which version of a service is spoken is ours to know.
_UNREAD = ("collect_timing", "version", "min_version", "max_version")


def client_options(service_type: str) -> list[cfg.Opt]:
    """Return the options of a group that says how to speak to one other service.

    Which endpoint it is (region, interface), who we are there, TLS, and bounds for waiting. The
    options of the way to authenticate are registered when it is known, by ``roost.external``.
    """
    adapter = loading.get_adapter_conf_options(include_deprecated=False)
    options = [*session_options(), *_read(adapter)]
    cfg.set_defaults(
        options,
        service_type=service_type,
        valid_interfaces=["internal", "public"],
        connect_retries=CONNECTS,
    )
    return options


def auth_options(auth_type: str) -> list[cfg.Opt]:
    """Return the options of a way to authenticate, such as ``password``."""
    found: list[cfg.Opt] = loading.get_auth_plugin_conf_options(auth_type)
    return found


def session_options() -> list[cfg.Opt]:
    """Return the options of a group that says who we are, to services that have no catalog."""
    options = [
        *loading.get_auth_common_conf_options(),
        *_read(loading.get_session_conf_options()),
    ]
    cfg.set_defaults(options, timeout=SECONDS)
    return options


def _read(options: list[cfg.Opt]) -> list[cfg.Opt]:
    return [option for option in options if option.dest not in _UNREAD]


GROUP = "service_user"
OPTIONS = session_options()
