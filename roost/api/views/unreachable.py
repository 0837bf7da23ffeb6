"""What can be said of things in a cell that is away: what the API database knows.

Clients are told so since 2.69 only; older ones would not understand what is missing.
"""

from collections.abc import Sequence
from typing import Any, Final

from roost import states
from roost.api.views import flavors
from roost.api.views.base import links, time
from roost.api.views.servers import Looker, image
from roost.objects import InstanceMapping, RequestSpec

SINCE: Final = 69
UNKNOWN: Final = "UNKNOWN"
_GROUPS_SINCE: Final = 71


def brief(mapping: InstanceMapping, looker: Looker) -> dict[str, Any]:
    """Return a server of a plain list."""
    return {
        "id": mapping.instance_uuid,
        "status": UNKNOWN,
        "links": links(looker.base_url, "servers", mapping.instance_uuid),
    }


def detailed(mapping: InstanceMapping, looker: Looker) -> dict[str, Any]:
    """Return a server of a list with details."""
    return brief(mapping, looker) | {
        "tenant_id": mapping.project_id,
        "created": time(mapping.created_at),
    }


def shown(
    mapping: InstanceMapping,
    spec: RequestSpec | None,
    looker: Looker,
    *,
    groups: Sequence[str],
) -> dict[str, Any]:
    """Return one server, with what was asked for when it was created."""
    found = detailed(mapping, looker) | {
        "user_id": mapping.user_id,
        "OS-EXT-STS:power_state": states.NOSTATE,
        "OS-EXT-AZ:availability_zone": (spec and spec.availability_zone) or UNKNOWN,
    }
    if spec is not None:
        found |= {
            "flavor": flavors.embedded(spec.flavor, with_specs=looker.sees_specs),
            "image": image(spec.image, looker.base_url),
        }
    if looker.version >= _GROUPS_SINCE:
        found["server_groups"] = list(groups)
    return found


def service(host: str, binary: str) -> dict[str, Any]:
    """Return the daemon of a host in the list of services."""
    return {"binary": binary, "host": host, "status": UNKNOWN}
