"""What a request for servers asks of hosts: the question that the schedulers get.

Asked by ``server_create.py``, and by roost-manage, which explains the answer and creates nothing.
"""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence

from roost.api.server_demands import Demands
from roost.objects import Flavor, ImageMeta, Locality, RequestSpec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where a user wants a server: any of these may be left open.

    ``forced``: on that host, whatever filters think of it.
    """

    zone: str | None = None
    host: str | None = None
    node: str | None = None
    forced: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """Servers of one kind, with all names resolved; ``hints`` are the user's, each a list."""

    project_id: str
    user_id: str
    flavor: Flavor
    image: ImageMeta | None
    demands: Demands = dataclasses.field(default_factory=Demands)
    locality: Sequence[Locality] = ()
    place: Place = dataclasses.field(default_factory=Place)
    hints: Mapping[str, list[str]] = dataclasses.field(default_factory=dict)

    def spec(self, count: int, *, request_uuid: str | None = None) -> RequestSpec:
        """Return the question for so many servers."""
        return RequestSpec.of(
            request_uuid=request_uuid or str(uuid.uuid4()),
            project_id=self.project_id,
            user_id=self.user_id,
            num_instances=count,
            flavor=self.flavor,
            image=self.image,
            availability_zone=self.place.zone,
            requested_host=self.place.host,
            requested_node=self.place.node,
            forced=self.place.forced,
            hints=dict(self.hints),
            numa_topology=self.demands.numa_topology,
            pci_requests=list(self.demands.pci_requests),
            locality=list(self.locality),
        )
