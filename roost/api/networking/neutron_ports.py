"""Networks, ports and port quota of a project in Neutron, for the interfaces of servers."""

from typing import Any, Final

from roost import exception
from roost.external.neutron import translated_errors

_NO_IP_NEEDED: Final = ("deferred", "none")


def available(network: Any, project: str) -> list[Any]:
    """Return the networks of a project, and the shared ones."""
    with translated_errors():
        own = list(network.networks(project_id=project, is_shared=False))
        return [*own, *network.networks(is_shared=True)]


def given(network: Any, port_id: str, *, alone: bool, missing: type[exception.RoostError]) -> Any:
    """Return a port that a server may use.

    :param missing: raised when the port does not exist, or not for this user
    :raises roost.exception.Invalid: for several servers, or a port without an address
    :raises roost.exception.Conflict: when another server uses it
    """
    if not alone:
        raise exception.Invalid(
            "Unable to launch multiple instances with a single configured port ID."
        )
    try:
        with translated_errors():
            port = network.get_port(port_id)
    except exception.NotFound as error:
        raise missing(f"Port id {port_id} could not be found.") from error
    if port.device_id:
        raise exception.Conflict(f"Port {port_id} is still in use.")
    if not port.fixed_ips and port.ip_allocation not in _NO_IP_NEEDED:
        raise exception.Invalid(f"Port {port_id} requires a FixedIP in order to be used.")
    return port


def check_quota(network: Any, project: str, *, asked: int) -> None:
    """Raise :class:`roost.exception.QuotaExceeded` unless the quota allows ``asked`` new ports."""
    if not asked:
        return
    with translated_errors():
        ports = network.get_quota(project, details=True).ports
    limit, used = int(ports["limit"]), int(ports["used"]) + int(ports["reserved"])
    if 0 <= limit < used + asked:
        raise exception.QuotaExceeded(
            "Maximum number of ports exceeded",
            resources=["ports"],
            asked={"ports": asked},
            used={"ports": used},
            limits={"ports": limit},
        )
