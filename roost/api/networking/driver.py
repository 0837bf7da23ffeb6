"""The interface of network drivers in the API, for plug-ins of ``roost.api.networking``.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group; it has the
name of the driver that hosts use. It validates users' requests with the user's rights, and
connects nothing: hosts do that. It stores security groups itself or in another service.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from oslo_config import cfg

from roost import plugins
from roost.api.networking.proxied import NetworkProxies
from roost.api.request import Call
from roost.db.engine import Session
from roost.objects import Instance, Locality, NetworkRequest
from roost.security_groups import Group, SecurityGroupRule


class SecurityGroupDriver(Protocol):
    """Manages the security groups of projects and the membership of servers."""

    def list_all(self, call: Call, project_id: str | None) -> list[Group]:
        """Return the groups of a project; None: all groups that the caller may see."""

    def get(self, call: Call, group_id: str) -> Group:
        """Return a group.

        :raises roost.exception.NotFound: when there is none that the caller may touch
        """

    def tell(self, call: Call, project_id: str) -> None:
        """Notify the hosts that filter: servers of a project have joined or left groups."""

    def create(self, call: Call, project_id: str, *, name: str, description: str) -> Group:
        """Create a group of a project.

        :raises roost.exception.Conflict: for a name that it cannot have
        :raises roost.exception.QuotaExceeded: when the project may not have more groups
        """

    def change(self, call: Call, group_id: str, changes: Mapping[str, str]) -> Group:
        """Change name and description of a group, and return it.

        :raises roost.exception.NotFound: as :meth:`get` does
        :raises roost.exception.Conflict: for a name that it cannot have, or the default group
        """

    def delete(self, call: Call, group_id: str) -> None:
        """Delete a group.

        :raises roost.exception.NotFound: as :meth:`get` does
        :raises roost.exception.Conflict: for one in use, or the default group
        """

    def get_rule(self, call: Call, rule_id: str) -> SecurityGroupRule:
        """Return a rule.

        :raises roost.exception.NotFound: when there is none that the caller may touch
        """

    def add_rule(self, call: Call, rule: SecurityGroupRule) -> SecurityGroupRule:
        """Add a rule to a group, and return it; its id may change.

        :raises roost.exception.NotFound: when a group does not exist
        :raises roost.exception.Conflict: when the group has an equal rule
        :raises roost.exception.Invalid: when the rule is invalid
        :raises roost.exception.QuotaExceeded: when the project may not have more rules
        """

    def delete_rule(self, call: Call, rule_id: str) -> None:
        """Delete a rule.

        :raises roost.exception.NotFound: as :meth:`get_rule` does
        """

    def named(self, call: Call, names: Sequence[str]) -> list[Group]:
        """Return the groups of a new server; empty for the default group alone.

        :param names: names or ids
        :raises roost.exception.Invalid: for a group that does not exist
        :raises roost.exception.Conflict: for a name of several groups
        """

    def of_server(self, call: Call, instance: Instance) -> list[Group]:
        """Return the groups that a server is in."""

    def join(self, call: Call, instance: Instance, name: str) -> None:
        """Add a server to a group of its project, by name or id.

        :raises roost.exception.NotFound: when there is no such group
        """

    def leave(self, call: Call, instance: Instance, name: str) -> None:
        """Remove a server from a group.

        :raises roost.exception.NotFound: when it is not in it
        :raises roost.exception.Conflict: when it cannot leave it
        """


class Networking(Protocol):
    """Validates the networks that servers are to be connected to."""

    external: bool  # another service manages networks, and its API is not served here

    @property
    def groups(self) -> SecurityGroupDriver:
        """The driver's security groups."""

    @property
    def proxies(self) -> NetworkProxies:
        """The driver's data for Compute's legacy network resources."""

    def requests(
        self,
        call: Call,
        asked: dict[str, Any],
        *,
        groups: Sequence[Group],
        least: int,
        most: int,
    ) -> list[NetworkRequest]:
        """Return the interfaces that each server of a create gets.

        :param asked: the body of the create request
        :param groups: the groups of the servers, as ``groups.named`` returned them
        :param most: the maximal number of servers, ``least`` the minimal
        :raises roost.exception.Invalid: for a network, port or group that is missing or unusable
        :raises roost.exception.Conflict: for a port or address in use, or an ambiguous network
        :raises roost.exception.QuotaExceeded: when the project may not have so many ports
        :raises roost.exception.Forbidden: when the user may not use a network
        """

    def take(
        self,
        session: Session,
        *,
        requests: Sequence[NetworkRequest],
        groups: Sequence[Group],
        uuids: Sequence[str],
    ) -> None:
        """Record the interfaces of new servers, in the transaction that creates the requests.

        :raises roost.exception.Invalid: for a port, network or group that was deleted meanwhile
        :raises roost.exception.Conflict: for a port or address that another server uses meanwhile
        """

    def attachment(
        self, call: Call, asked: dict[str, Any], *, instance: Instance
    ) -> NetworkRequest:
        """Return the one interface that is to be attached to an existing server.

        :raises roost.exception.NotFound: when the network or port does not exist
        :raises roost.exception.Invalid: for a network or port that cannot be used
        :raises roost.exception.Conflict: for a port or address in use, or an ambiguous network
        """

    def give_back(
        self, session: Session, instance_uuid: str, *, port_id: str | None, network_id: str | None
    ) -> None:
        """Record a detached interface of a server, in a transaction of the API database.

        :param network_id: None: it has another interface in that network
        """

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        """Return the labels of hosts that these networks require or prefer."""


GROUP = "roost.api.networking"


def load_networking(conf: cfg.ConfigOpts) -> Networking:
    """Make the API's side of the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find(GROUP, conf.network.driver, option="[network] driver")
    driver: Networking = plugin.from_conf(conf)
    return driver
