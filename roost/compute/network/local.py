"""The network driver for the cell's own networks, whose addresses the cell-conductors assign."""

from typing import Self

from oslo_config import cfg

from roost import exception
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo, NetworkRequest, Vif
from roost.rpc.cell_conductor import CellConductor

# Errors that would be the same on every host of the cell: they all share these networks.
_FINAL = (
    exception.AddressInUse,
    exception.NoCapacity,
    exception.NotFound,
    exception.Invalid,
)


class LocalNetworkDriver:
    """Requests addresses from the cell-conductor; plugs nothing on the host.

    :param host: this host's name
    :param host_bound: behave as if interfaces could not leave their host, as on bare metal
    """

    def __init__(self, conductor: CellConductor, *, host: str, host_bound: bool = False) -> None:
        self._conductor = conductor
        self._host = host
        self.host_bound = host_bound

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        return cls(conductor, host=conf.host)

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        try:
            return self._conductor.allocate_networks(
                context,
                instance_uuid=instance.uuid,
                host=self._host,
                attempt=instance.attempt,
            )
        except _FINAL as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error

    def free(self, context: RequestContext, instance: Instance) -> None:
        self._conductor.free_networks(context, instance_uuid=instance.uuid, host=self._host)

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        return self._conductor.attach_port(
            context, instance_uuid=instance.uuid, host=self._host, request=request, key=key
        )

    def detach(self, context: RequestContext, instance: Instance, port_id: str) -> None:
        self._conductor.detach_port(
            context, instance_uuid=instance.uuid, host=self._host, port_id=port_id
        )


class HostBoundNetworkDriver(LocalNetworkDriver):
    """A local driver whose interfaces cannot leave their host: for rigs and tests."""

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        return cls(conductor, host=conf.host, host_bound=True)
