"""Who looks at a server: what a call says of that."""

from roost.api import policies
from roost.api.call import Call
from roost.api.views.servers import Looker


def looker(call: Call) -> Looker:
    return Looker(
        version=call.version,
        base_url=call.base_url,
        sees_host=call.allows(policies.servers.SHOW_HOST),
        sees_host_status=call.allows(policies.servers.SHOW_HOST_STATUS),
        sees_counts=call.allows(policies.servers.SHOW_PLACEMENT_COUNTS),
        sees_specs=call.allows(policies.flavors.LIST_SPECS),
    )
