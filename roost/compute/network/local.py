"""Addresses of the cell's own networks, given out by its cell-conductors."""

from typing import Self

from oslo_config import cfg

from roost import exception
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo, NetworkRequest, Vif
from roost.rpc.cell_conductor import CellConductor

# What no other host of the cell would cure: they all share these networks.
_FINAL = (
    exception.AddressInUse,
    exception.NoCapacity,
    exception.NotFound,
    exception.Invalid,
)


class LocalNetworkDriver:
    """Asks the cell-conductor; nothing is plugged on the host.

    :param host: whose interfaces these are
    :param host_bound: pretend that interfaces cannot leave their host, as on bare metal
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
    """The same, whose interfaces cannot leave their host: for rigs and tests."""

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        return cls(conductor, host=conf.host, host_bound=True)
