"""Options of Roost's identity for other services, and of the connections to them."""

from keystoneauth1 import loading
from oslo_config import cfg

SECONDS = 30.0  # that another service may take to answer
# The usual auth plug-in, and the groups with auth options.
PASSWORD = "password"  # noqa: S105 - the name of a plug-in
PROVING = ("keystone_authtoken", "service_user", "glance", "neutron", "vendordata_dynamic_auth")
CONNECTS = 1  # retries of a failed connection
# Options of no use here: no code reads timings, and the versions of services are fixed.
_UNREAD = ("collect_timing", "version", "min_version", "max_version")


def client_options(service_type: str) -> list[cfg.Opt]:
    """Return the options of the group of one other service.

    Its endpoint (region, interface), our identity there, TLS, and timeouts. The options of the
    auth plug-in are registered when it is known, by ``roost.external``.
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
    """Return the options of an auth plug-in, such as ``password``."""
    found: list[cfg.Opt] = loading.get_auth_plugin_conf_options(auth_type)
    return found


def session_options() -> list[cfg.Opt]:
    """Return the options of a group with our identity, for services that are not in a catalog."""
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
