"""Local networks whose guests are plugged into bridges of this host."""

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
_ZONES: Final = 0xFFFE  # of connections there may be so many
BRIDGE: Final = "bridge"  # as Neutron's ports are bound that are plugged so


class BridgeDriver(LocalNetworkDriver):
    """Addresses are the cell's to give; all else is on this host.

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
        self._asked: set[str] = set()  # projects whose groups somebody waits to ask for

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        """Make one for this host.

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
            with _logged(f"{instance.uuid}: there is no place for the port {vif.id}"):
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
        """Ask again for a project's networks; whoever waits for that asks for those after, too."""
        with self._lock:
            if project_id in self._asked:
                return
            self._asked.add(project_id)
        with self._refreshing:
            with self._lock:
                self._asked.discard(project_id)
                networks = self._records.networks_of(project_id)
            self._refresh(context, project_id, networks)

    def _refresh(self, context: RequestContext, project_id: str, networks: Sequence[str]) -> None:
        changed = self._filters.learn(context, networks)
        with _logged(f"what project {project_id} lets pass is not in force yet"), self._lock:
            for network_id in changed:
                self._settle(network_id)

    def restore(self) -> None:
        with self._lock:
            networks = self._records.networks()
        with _logged("what security groups say stays as it was"):
            self._filters.learn(admin_context(), networks)
        self._restore()
        self._forget_others()

    def _restore(self) -> None:
        with self._lock:
            for network_id in self._records.networks():
                with _logged(f"network {network_id} is not whole on this host"):
                    self._settle(network_id)
                    self._settled(network_id)

    @contextmanager
    def _coming(self, network_ids: Sequence[str]) -> Iterator[None]:
        """Remember what may pass in networks that are about to be here, if they then are."""
        try:
            with self._filters.held(network_ids):
                yield
        finally:
            self._forget_others()

    def _forget_others(self) -> None:
        """Remember what may pass in networks of this host only."""
        with self._lock:
            self._filters.keep(self._records.networks())

    def _others(self, uuid: str, port_id: str) -> list[BridgePort]:
        with self._lock:
            return [port for port in self._records.get(uuid).ports if port.id != port_id]

    def _become(self, uuid: str, ports: Sequence[BridgePort]) -> None:
        """Have an instance plugged by these ports and no others.

        That is written down at first, with the networks that it changes. So whatever comes in
        between, :meth:`restore` or the next call goes on with it.
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
        """Note that a network knows of all that is to be."""
        for uuid in self._records.instances():
            record = self._records.get(uuid)
            left = tuple(other for other in record.unsettled if other != network_id)
            if left != record.unsettled:
                self._records.write(uuid, dataclasses.replace(record, unsettled=left))

    def _settle(self, network_id: str) -> None:
        """Have a network here as its ports want it; one without any is not here."""
        ports = self._records.of_network(network_id)
        if not ports:
            self._remove(SegmentNames(network_id))
            return
        filtering = self._filters.get(network_id)
        segment = Segment.of(network_id, ports, self._settings, filtering=filtering)
        number = self._links.ensure_bridge(segment)
        self._firewall.ensure(segment, zone=number % _ZONES + 1)  # before anything is plugged there
        self._links.ensure(segment)
        self._dhcp.ensure(segment)
        self._metadata.ensure(segment)

    def _remove(self, names: SegmentNames) -> None:
        self._metadata.remove(names)
        self._dhcp.remove(names)
        self._links.remove(names)
        self._firewall.remove(names)

    def _bound(self, vif: Vif) -> Vif:
        """Say what a port is plugged into, as hypervisors read it."""
        bound: Vif = vif.obj_clone()
        bound.type = BRIDGE
        bound.details = {"bridge_name": json.dumps(SegmentNames(vif.network_id).bridge)}
        bound.mtu = vif.mtu or self._settings.mtu
        return bound


@contextmanager
def _failures() -> Iterator[None]:
    """Let another host try what this one cannot do, unless none can."""
    try:
        yield
    except exception.Invalid as error:
        raise exception.BuildFailed(error.message, reschedulable=False) from error
    except (exception.Internal, OSError) as error:
        raise exception.BuildFailed(f"The host's network could not be made: {error}") from error


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Go on after a failure; the network is seen to again."""
    try:
        yield
    except (exception.Internal, exception.Unavailable, OSError) as error:
        LOG.error("%s: %s", what, error)  # noqa: TRY400
