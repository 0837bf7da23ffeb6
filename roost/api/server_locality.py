"""Where a new server must or should be for the sake of what it is to be connected to."""

from collections.abc import Iterable, Sequence

from roost.networks import LocalNetwork
from roost.objects import Locality, NetworkRequest


def locality_of(
    requests: Iterable[NetworkRequest], known: Sequence[LocalNetwork]
) -> list[Locality]:
    """Return the labels of the hosts that reach all networks of a server, in order of need.

    A request that names no network gets the first one; networks of users need nothing. What one
    network needs and another only prefers is needed.
    """
    by_id = {network.id: network for network in known}
    asked = [request.network_id or known[0].id for request in requests if known]
    chosen = [by_id[network_id] for network_id in asked if network_id in by_id]
    hard = dict.fromkeys(label for network in chosen for label in network.labels)
    soft = dict.fromkeys(label for network in chosen for label in network.preferred_labels)
    return [Locality.of(label=label, hard=label in hard) for label in dict.fromkeys([*hard, *soft])]
