"""Filtering by security groups for the hosts of a cell: answers hosts, and notifies them."""

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from roost import exception
from roost.context import RequestContext
from roost.db.cell import security_groups
from roost.db.engine import Database
from roost.rpc.compute import Compute
from roost.security_groups import on_host

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class HostSecurityGroups:
    """Answers and notifies hosts.

    :param filters: whether hosts of this cell filter at all
    """

    database: Database
    compute: Compute
    filters: bool

    def describe(self, host: str, network_ids: Sequence[str]) -> dict[str, Any]:
        """Return the traffic allowed at the ports on a host, by network, as values for JSON."""
        with self.database.read() as session:
            members = security_groups.members(session, host=host, network_ids=network_ids)
            projects = {member.project_id for found in members.values() for member in found}
            known = security_groups.copies(session, projects)
        return {
            network_id: on_host(found, known, host=host).as_dict()
            for network_id, found in members.items()
        }

    @contextmanager
    def changing(
        self, context: RequestContext, instance_uuid: str, *, host: str | None = None
    ) -> Iterator[None]:
        """Notify hosts after a change of an instance's addresses, which their groups may allow.

        :param host: the host that changes the addresses; it requests its filtering by itself
        """
        yield
        if self.filters:
            try:
                self._notify_host(context, instance_uuid, but_not=host)
            except exception.RoostError as error:
                LOG.warning(
                    "[instance: %s] could not send hosts its addresses: %s", instance_uuid, error
                )

    def _notify_host(
        self, context: RequestContext, instance_uuid: str, *, but_not: str | None
    ) -> None:
        with self.database.read() as session:
            project_id = security_groups.project_of(session, instance_uuid)
            hosts = security_groups.hosts_of(session, project_id) if project_id else []
        for host in hosts:
            if project_id is not None and host != but_not:
                self.compute.on(host).refresh_security_groups(context, project_id=project_id)
