"""The network driver that plugs guests of local networks into bridges of this host."""

import dataclasses
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Self

from oslo_config import cfg

from roost import concurrency, exception
from roost.compute.network.bridge.dhcp import Dhcp
from roost.compute.network.bridge.filters import Filters
from roost.compute.network.bridge.firewall import Firewall
from roost.compute.network.bridge.metadata import Metadata
from roost.compute.network.bridge.ports import BridgePort, BridgeRecord, BridgeRecords
from roost.compute.network.bridge.segment import Links, Segment, SegmentNames
from roost.compute.network.bridge.settings import BridgeSettings
from roost.compute.network.bridge.system import System
from roost.compute.network.local import LocalNetworkDriver
from roost.context import RequestContext, admin_context
from roost.objects import Instance, NetworkInfo, NetworkRequest, Vif
from roost.rpc.cell_conductor import CellConductor

LOG = logging.getLogger(__name__)
_ZONES: Final = 0xFFFE  # the maximum number of conntrack zones
BRIDGE: Final = "bridge"  # Neutron's VIF type for ports on a Linux bridge


class BridgeDriver(LocalNetworkDriver):
    """Requests addresses from the cell; everything else is on this host.

    :param system: the host's commands and processes
    """

    def __init__(
        self,
        conductor: CellConductor,
        *,
        host: str,
        settings: BridgeSettings,
        system: System,
        metadata: Metadata,
    ) -> None:
        super().__init__(conductor, host=host)
        self._settings = settings
        self._records = BridgeRecords(settings.folder / "instances")
        self._filters = Filters(settings.folder / "filters.json", conductor, host=host)
        self._links = Links(system)
        self._firewall = Firewall(system)
        self._dhcp = Dhcp(system, settings.folder / "dhcp")
        self._metadata = metadata
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._queued: set[str] = set()  # projects with a thread that waits to refresh their groups

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        """Create the driver of this host.

        :raises roost.exception.Invalid: when the options, or the host, do not allow it
        """
        if concurrency.selected() != concurrency.THREADING:
            raise exception.Invalid("[network] driver = bridge wants concurrency = threading")
        system, settings = System(), BridgeSettings.from_conf(conf)
        system.check()
        metadata = Metadata(system, settings.metadata)
        return cls(conductor, host=conf.host, settings=settings, system=system, metadata=metadata)

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        return self.plug(instance, super().allocate(context, instance))

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        vif = super().attach(context, instance, request, key=key)
        others = self._others(instance.uuid, str(vif.id))
        try:
            with self._coming([vif.network_id]):
                self._filters.learn(context, [vif.network_id])
                self._become(instance.uuid, [*others, BridgePort.of(instance, vif)])
        except Exception:
            with _logged(f"{instance.uuid}: the port {vif.id} could not be removed"):
                self._become(instance.uuid, others)
            super().detach(context, instance, str(vif.id))
            raise
        return self._bound(vif)

    def detach(self, context: RequestContext, instance: Instance, port_id: str) -> None:
        self._become(instance.uuid, self._others(instance.uuid, port_id))
        self._forget_others()
        super().detach(context, instance, port_id)

    def plug(self, instance: Instance, info: NetworkInfo) -> NetworkInfo:
        with _failures():
            ports = [BridgePort.of(instance, vif) for vif in info.vifs]
            with self._coming([port.network_id for port in ports]):
                self._filters.have(ports)
                self._become(instance.uuid, ports)
        return NetworkInfo.of(vifs=[self._bound(vif) for vif in info.vifs])

    def unplug(self, instance_uuid: str) -> None:
        self._become(instance_uuid, [])
        self._forget_others()

    def plugged(self) -> list[str]:
        with self._lock:
            return self._records.instances()

    def refresh_groups(self, context: RequestContext, project_id: str) -> None:
        """Fetch the rules of a project's networks; a waiting thread serves later calls, too."""
        with self._lock:
            if project_id in self._queued:
                return
            self._queued.add(project_id)
        with self._refreshing:
            with self._lock:
                self._queued.discard(project_id)
                networks = self._records.networks_of(project_id)
            self._refresh(context, project_id, networks)

    def _refresh(self, context: RequestContext, project_id: str, networks: Sequence[str]) -> None:
        changed = self._filters.learn(context, networks)
        with _logged(f"rules of project {project_id} are not in force yet"), self._lock:
            for network_id in changed:
                self._settle(network_id)

    def restore(self) -> None:
        with self._lock:
            networks = self._records.networks()
        with _logged("the rules of security groups stay unchanged"):
            self._filters.learn(admin_context(), networks)
        self._restore()
        self._forget_others()

    def _restore(self) -> None:
        with self._lock:
            for network_id in self._records.networks():
                with _logged(f"network {network_id} could not be restored"):
                    self._settle(network_id)
                    self._settled(network_id)

    @contextmanager
    def _coming(self, network_ids: Sequence[str]) -> Iterator[None]:
        """Keep the rules of these networks during the block; drop unused ones afterwards."""
        try:
            with self._filters.held(network_ids):
                yield
        finally:
            self._forget_others()

    def _forget_others(self) -> None:
        """Drop the rules of networks without ports on this host."""
        with self._lock:
            self._filters.keep(self._records.networks())

    def _others(self, uuid: str, port_id: str) -> list[BridgePort]:
        with self._lock:
            return [port for port in self._records.get(uuid).ports if port.id != port_id]

    def _become(self, uuid: str, ports: Sequence[BridgePort]) -> None:
        """Plug these ports of an instance and unplug all others.

        The record is written first, with the networks that change. So after an interruption
        :meth:`restore` or the next call completes the change.
        """
        with self._lock:
            before = self._records.get(uuid)
            wanted = BridgeRecord(tuple(ports))
            unsettled = sorted(before.networks | wanted.networks)
            self._records.write(uuid, dataclasses.replace(wanted, unsettled=tuple(unsettled)))
            for network_id in unsettled:
                self._settle(network_id)
            self._records.write(uuid, wanted)

    def _settled(self, network_id: str) -> None:
        """Note that a network matches all records."""
        for uuid in self._records.instances():
            record = self._records.get(uuid)
            left = tuple(other for other in record.unsettled if other != network_id)
            if left != record.unsettled:
                self._records.write(uuid, dataclasses.replace(record, unsettled=left))

    def _settle(self, network_id: str) -> None:
        """Apply the records to a network; one without ports is removed."""
        ports = self._records.of_network(network_id)
        if not ports:
            self._remove(SegmentNames(network_id))
            return
        filtering = self._filters.get(network_id)
        segment = Segment.of(network_id, ports, self._settings, filtering=filtering)
        number = self._links.ensure_bridge(segment)
        self._firewall.ensure(segment, zone=number % _ZONES + 1)  # before any port is plugged
        self._links.ensure(segment)
        self._dhcp.ensure(segment)
        self._metadata.ensure(segment)

    def _remove(self, names: SegmentNames) -> None:
        self._metadata.remove(names)
        self._dhcp.remove(names)
        self._links.remove(names)
        self._firewall.remove(names)

    def _bound(self, vif: Vif) -> Vif:
        """Return a port with its binding, as hypervisors read it."""
        bound: Vif = vif.obj_clone()
        bound.type = BRIDGE
        bound.details = {"bridge_name": json.dumps(SegmentNames(vif.network_id).bridge)}
        bound.mtu = vif.mtu or self._settings.mtu
        return bound


@contextmanager
def _failures() -> Iterator[None]:
    """Raise build failures; final for invalid requests, reschedulable for errors of this host."""
    try:
        yield
    except exception.Invalid as error:
        raise exception.BuildFailed(error.message, reschedulable=False) from error
    except (exception.Internal, OSError) as error:
        raise exception.BuildFailed(f"The host's network could not be set up: {error}") from error


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log a failure and continue; a later call repeats the step."""
    try:
        yield
    except (exception.Internal, exception.Unavailable, OSError) as error:
        LOG.error("%s: %s", what, error)  # noqa: TRY400
