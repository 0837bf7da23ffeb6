"""The parts of one compute host that operations use.

``load_virt`` and ``load_network`` load the drivers that the options name.
"""

import dataclasses
import logging
import threading
from typing import Final

from oslo_config import cfg

from roost import plugins
from roost.compute.config_drive import ConfigDrives
from roost.compute.image_cache import ImageCache
from roost.compute.leases import LeaseKeeper, RetryPolicy
from roost.compute.network.driver import ExpectsGuests, NetworkDriver, PlugsGuests
from roost.compute.port_resources import assign_providers
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.cold_migration import MovesGuests
from roost.compute.virt.driver import VirtDriver
from roost.context import RequestContext
from roost.image.driver import ImageStore
from roost.objects import Instance, NetworkInfo
from roost.rpc.cell_conductor import CellConductor

LOG = logging.getLogger(__name__)
STEP_SECONDS: Final = 60.0  # how long a step of a move waits for who cannot be reached


@dataclasses.dataclass(frozen=True)
class Host:
    """A host's name and components; ``stopping`` is set when the daemon is shutting down."""

    name: str
    conductor: CellConductor
    virt: VirtDriver
    networks: NetworkDriver
    images: ImageCache
    drives: ConfigDrives
    store: ImageStore
    tracker: ResourceTracker
    leases: LeaseKeeper
    patience: RetryPolicy = dataclasses.field(default_factory=RetryPolicy)
    step_patience: RetryPolicy = dataclasses.field(
        default_factory=lambda: RetryPolicy(seconds=STEP_SECONDS, longest=5.0)
    )
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)

    def allocate_networks(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Allocate the interfaces of an instance that has a claim here, bound to this host.

        :raises roost.exception.Conflict: when its build is no longer wanted
        :raises roost.exception.BuildFailed: when they cannot be allocated
        """
        assign_providers(instance, self.tracker.resources)
        return self.networks.allocate(context, instance)

    def expect_networks(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Plug here the interfaces of a guest that still runs on another host, with its ports.

        :raises roost.exception.BuildFailed: when they cannot be plugged
        """
        info = instance.network_info or NetworkInfo.of(vifs=[])
        if isinstance(self.networks, ExpectsGuests):
            assign_providers(instance, self.tracker.resources)
            return self.networks.expect(instance) if info.vifs else info
        return self.plug(instance, info)

    def plug(self, instance: Instance, info: NetworkInfo) -> NetworkInfo:
        """Plug a guest's interfaces and return them as plugged; may be repeated."""
        if isinstance(self.networks, PlugsGuests):
            return self.networks.plug(instance, info)
        return info

    def unplug(self, instance_uuid: str) -> None:
        """Remove everything that a guest was plugged into on the host; may be repeated."""
        if isinstance(self.networks, PlugsGuests):
            self.networks.unplug(instance_uuid)

    def destroy(self, instance_uuid: str) -> None:
        """Destroy a guest, with what moves have left, and unplug its interfaces; repeatable."""
        if isinstance(self.virt, MovesGuests):
            self.virt.cold_moves().discard(instance_uuid)
        self.virt.destroy(instance_uuid)
        self.unplug(instance_uuid)

    def note_announced(self, instance_uuid: str) -> None:
        """Mark a guest as announced; if that fails, reconciling does it later."""
        try:
            self.virt.note_announced(instance_uuid)
        except Exception:
            LOG.exception("[instance: %s] guest could not be marked as announced", instance_uuid)


def load_virt(conf: cfg.ConfigOpts) -> VirtDriver:
    """Load the driver that ``[compute] virt_driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find(
        "roost.compute.virt", conf.compute.virt_driver, option="[compute] virt_driver"
    )
    driver: VirtDriver = plugin.from_conf(conf)
    return driver


def load_network(conf: cfg.ConfigOpts, conductor: CellConductor) -> NetworkDriver:
    """Load the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find("roost.compute.network", conf.network.driver, option="[network] driver")
    driver: NetworkDriver = plugin.from_conf(conf, conductor)
    return driver
