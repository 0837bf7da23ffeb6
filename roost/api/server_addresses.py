"""Fixed and floating addresses of servers in the words of Compute before 2.44.

With local networks an address comes and goes with its interface, and none floats: so each of these
has but its documented refusal.
"""

from collections.abc import Callable, Mapping
from typing import Final

from roost import exception
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located


def _add_fixed(_call: Call, located: Located) -> Answer:
    raise exception.Invalid(
        f"Instance {located.instance.uuid} gets addresses by its interfaces only:"
        " attach one (os-interface) instead."
    )


def _remove_fixed(call: Call, located: Located) -> Answer:
    address, uuid = call.body["removeFixedIp"]["address"], located.instance.uuid
    info = located.instance.network_info
    if address not in [vif.ip for vif in (info.vifs if info else [])]:
        raise exception.Invalid(f"Unable to find instance {uuid} fixed ip {address}.")
    raise exception.Invalid(
        f"The address {address} of instance {uuid} goes with its interface:"
        " detach that (os-interface) instead."
    )


def _no_floating(_call: Call, _located: Located) -> Answer:
    raise exception.NotFound("floating IP not found")


ACTIONS: Final[Mapping[str, Callable[[Call, Located], Answer]]] = {
    "addFixedIp": _add_fixed,
    "removeFixedIp": _remove_fixed,
    "addFloatingIp": _no_floating,
    "removeFloatingIp": _no_floating,
}
