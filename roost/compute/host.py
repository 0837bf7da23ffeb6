"""The parts of one compute host, as every operation on it needs them."""

import dataclasses
import threading

from roost.compute.config_drive import ConfigDrives
from roost.compute.image import ImageCache
from roost.compute.leases import LeaseKeeper
from roost.compute.network.driver import NetworkDriver
from roost.compute.patience import Patience
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.driver import VirtDriver
from roost.image.driver import ImageStore
from roost.rpc.cell_conductor import CellConductor


@dataclasses.dataclass(frozen=True)
class Host:
    """A host's name and what works there; ``stopping`` is set when the daemon is to end."""

    name: str
    conductor: CellConductor
    virt: VirtDriver
    networks: NetworkDriver
    images: ImageCache
    drives: ConfigDrives
    store: ImageStore
    tracker: ResourceTracker
    leases: LeaseKeeper
    patience: Patience = dataclasses.field(default_factory=Patience)
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)
