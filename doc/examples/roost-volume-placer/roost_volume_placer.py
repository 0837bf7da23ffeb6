"""Places volumes on pools of storage, by Roost's schedulers: a service that has no servers.

It needs roost-scheduler-client and a running roost-scheduler, and nothing else of Roost.
"""

import datetime
import uuid
from collections.abc import Sequence

from oslo_config import cfg

from roost.context import admin_context
from roost.objects import HostReport, ResourceInventory, ResourceRequest, ServerGroup
from roost.rpc.transport import Bus
from roost.scheduler.client import CellSchedulerClient, Reporter, provider_report

SERVICE = "0f7a9c52-6f0b-4c39-9d1e-2f9a34a1b7c5"  # the "cell" of all our pools
SPACE = "CUSTOM_VOLUME_GB"
SSD = "STORAGE_DISK_SSD"


def connect(url: str) -> Bus:
    """Return the bus of the schedulers."""
    conf = cfg.ConfigOpts()
    conf([], project="volumes", default_config_files=[])
    return Bus(conf, url)


class Pool:
    """A pool of storage, which reports itself and its ``volumes``: the GiB of each.

    Call ``reporter.tick(time.monotonic())`` about once per second.
    """

    def __init__(self, bus: Bus, name: str, *, gib: int, traits: Sequence[str] = ()) -> None:
        self.name = name
        self.volumes: dict[str, int] = {}
        self._gib = gib
        self._traits = traits
        self.reporter = Reporter(CellSchedulerClient(bus), report=self._report, interval=30.0)

    def create(self, volume: str, gib: int) -> None:
        self.volumes[volume] = gib
        self.reporter.changed()

    def delete(self, volume: str) -> None:
        self.volumes.pop(volume, None)
        self.reporter.changed()

    def _report(self) -> HostReport:
        space = ResourceInventory.of(resource_class=SPACE, total=self._gib, max_unit=self._gib)
        return provider_report(
            self.name,
            cell_uuid=SERVICE,
            inventories=[space],
            consumers={volume: {SPACE: gib} for volume, gib in self.volumes.items()},
            traits=self._traits,
            reported_at=datetime.datetime.now(datetime.UTC),
        )


class VolumePlacer:
    """Chooses and claims pools."""

    def __init__(self, bus: Bus) -> None:
        self._schedulers = CellSchedulerClient(bus)

    def place(
        self,
        volumes: Sequence[str],
        *,
        gib: int,
        project: str,
        traits: Sequence[str] = (),
        apart: str | None = None,
    ) -> list[str]:
        """Claim space for new volumes of this size, and return the pool of each.

        :param apart: the uuid of a group whose volumes are all on different pools
        :raises roost.exception.NoValidHost: with the reasons, when there is none for all of them
        """
        request = ResourceRequest.of(
            request_uuid=str(uuid.uuid4()),
            project_id=project,
            resources={SPACE: gib},
            required_traits=list(traits),
            requested_cell=SERVICE,
            group=_anti_affinity(apart, project) if apart else None,
        )
        selections = self._schedulers.select_destinations(
            admin_context(), request_spec=request, instance_uuids=list(volumes), alternates=0
        )
        return [chosen.host for chosen, *_ in selections]

    def release(self, volumes: Sequence[str]) -> None:
        """Give the space of volumes back; to repeat it does no harm."""
        self._schedulers.release_claims(admin_context(), instance_uuids=list(volumes))


def _anti_affinity(group: str, project: str) -> ServerGroup:
    return ServerGroup.of(
        uuid=group, project_id=project, user_id="", name=group, policy="anti-affinity"
    )
