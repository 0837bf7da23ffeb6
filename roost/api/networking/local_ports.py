"""What interfaces that come and go count of the quota of their server's project."""

import contextlib
from collections.abc import Mapping

from roost import exception
from roost.db.api import instance_mappings, made_ports, network_quota, server_ports
from roost.db.engine import Database, retried
from roost.objects import Instance


class LocalPorts:
    """Counts the ports of attached interfaces; those that users made count of themselves.

    :param quota: limits of projects that have none of their own
    """

    def __init__(self, database: Database, *, quota: Mapping[str, int]) -> None:
        self._database = database
        self._quota = quota

    @retried
    def attach(self, instance: Instance, port_id: str) -> None:
        """Note that a server is to have one more port.

        :raises roost.exception.QuotaExceeded: when its project may not have more
        :raises roost.exception.NotFound: when it is gone
        """
        with self._database.begin() as session:
            instance_mappings.hold(session, instance.uuid)
            network_quota.check(session, instance.project_id, self._quota, ports=1)
            server_ports.attach(session, instance.project_id, instance.uuid, port_id)

    @retried
    def detach(self, instance: Instance, port_id: str) -> None:
        """Note that a server has a port no more; one that its user made counts as before."""
        with self._database.begin() as session, contextlib.suppress(exception.NotFound):
            instance_mappings.hold(session, instance.uuid)
            if made_ports.find(session, port_id) is None:
                server_ports.detach(session, instance.project_id, instance.uuid, port_id)
