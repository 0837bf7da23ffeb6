"""The security groups of servers: with local networks there is one, and it is every server's."""

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_security import DEFAULT
from roost.api.views import server_security_groups as views
from roost.api.whereabouts import Located, Whereabouts


class ServerSecurityGroups:
    """Handler of ``/servers/{id}/os-security-groups``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def list_all(self, call: Call) -> Answer:
        instance = self._whereabouts.find(call, call.params["server_id"]).instance
        return Answer({"security_groups": views.full(instance)})


def add(call: Call, _located: Located) -> Answer:
    """Let a server be in a group; it is in the only one there is.

    :raises roost.exception.NotFound: for any other
    """
    _check(call.body["addSecurityGroup"]["name"])
    return Answer()


def remove(call: Call, located: Located) -> Answer:
    """Refuse to take a server out of the only group.

    :raises roost.exception.NotFound: for a group that it is not in
    :raises roost.exception.Conflict: for the one that every server is in
    """
    _check(call.body["removeSecurityGroup"]["name"])
    raise exception.Conflict(
        f"Instance {located.instance.uuid} cannot leave the security group {DEFAULT!r}:"
        " with local networks every server is in it."
    )


def _check(name: str) -> None:
    if name != DEFAULT:
        raise exception.NotFound(f"Security group {name} not found.")
