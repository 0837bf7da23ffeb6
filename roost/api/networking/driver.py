"""The interface of network drivers in the API, which plug-ins of ``roost.api.networking`` fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group; it has the
name of the driver that hosts use. It judges what users ask for, by the rights of the user, and
connects nothing: that is for the hosts. Security groups it keeps itself, or has another service
keep.
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
    """Knows the security groups of projects, and which servers are in them."""

    def list_all(self, call: Call, project_id: str | None) -> list[Group]:
        """Return the groups of a project; None: all that the caller may see."""

    def get(self, call: Call, group_id: str) -> Group:
        """Return a group.

        :raises roost.exception.NotFound: when there is none that the caller may touch
        """

    def tell(self, call: Call, project_id: str) -> None:
        """Let those that filter know that servers of a project are in other groups by now."""

    def create(self, call: Call, project_id: str, *, name: str, description: str) -> Group:
        """Make a group of a project.

        :raises roost.exception.Conflict: for a name that it cannot have
        :raises roost.exception.QuotaExceeded: when the project may not have more
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
        """Let a group have a rule, and return it; its id may become another.

        :raises roost.exception.NotFound: when a group is not there
        :raises roost.exception.Conflict: when there is one that says the same
        :raises roost.exception.Invalid: when there can be no such rule
        :raises roost.exception.QuotaExceeded: when the project may not have more
        """

    def delete_rule(self, call: Call, rule_id: str) -> None:
        """Take a rule away.

        :raises roost.exception.NotFound: as :meth:`get_rule` does
        """

    def named(self, call: Call, names: Sequence[str]) -> list[Group]:
        """Return the groups that a new server is to be in; none where it is the default one alone.

        :param names: or ids
        :raises roost.exception.Invalid: for one that is not there
        :raises roost.exception.Conflict: for a name that several have
        """

    def of_server(self, call: Call, instance: Instance) -> list[Group]:
        """Return the groups that a server is in."""

    def join(self, call: Call, instance: Instance, name: str) -> None:
        """Let a server be in a group of its project, by name or id.

        :raises roost.exception.NotFound: when there is no such group
        """

    def leave(self, call: Call, instance: Instance, name: str) -> None:
        """Let a server not be in a group any more.

        :raises roost.exception.NotFound: when it is not in it
        :raises roost.exception.Conflict: when it cannot leave it
        """


class Networking(Protocol):
    """Judges what servers are to be connected to."""

    external: bool  # networks are another service's, and its API is not served here

    @property
    def groups(self) -> SecurityGroupDriver:
        """Who knows security groups."""

    @property
    def proxies(self) -> NetworkProxies:
        """Who knows what Compute told of networks when clients did not ask the network service."""

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

        :param asked: the create's body
        :param groups: that it is to be in, as ``groups.named`` returned them
        :param most: servers that are to be made, ``least`` that must be
        :raises roost.exception.Invalid: for what is not there, or cannot be had
        :raises roost.exception.Conflict: for what belongs to another, or is not clear
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
        """Note what new servers have, in the transaction of the API database that makes them.

        :raises roost.exception.Invalid: for what is gone meanwhile
        :raises roost.exception.Conflict: for what another has meanwhile
        """

    def attachment(
        self, call: Call, asked: dict[str, Any], *, instance: Instance
    ) -> NetworkRequest:
        """Return the one interface that is to be attached to a server that is there.

        :raises roost.exception.NotFound: when the network or port is not there
        :raises roost.exception.Invalid: for what cannot be had
        :raises roost.exception.Conflict: for what belongs to another, or is not clear
        """

    def give_back(
        self, session: Session, instance_uuid: str, *, port_id: str | None, network_id: str | None
    ) -> None:
        """Note what a server has no more, in a transaction of the API database.

        :param network_id: None: it has another interface there
        """

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        """Return where a server must or should be for the sake of these."""


GROUP = "roost.api.networking"


def load_networking(conf: cfg.ConfigOpts) -> Networking:
    """Make the API's side of the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find(GROUP, conf.network.driver, option="[network] driver")
    driver: Networking = plugin.from_conf(conf)
    return driver
