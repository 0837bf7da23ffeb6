"""Dependencies of the handlers: databases, cells, clients of other services, API options.

``roost-api`` makes one :class:`Dependencies` and passes it to :func:`roost.api.app.make_app`.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from concurrent import futures

from roost.api.compute.service_views import NOVA_NAMES
from roost.api.middleware import Authentication
from roost.api.networking.driver import Networking
from roost.api.policy import Policy
from roost.api.route import Route
from roost.cells import Cells
from roost.db.engine import Database
from roost.hardware.pci_aliases import PciAlias
from roost.image.driver import ImageStore
from roost.networks import LocalNetwork
from roost.objects import consoles
from roost.rpc.super_conductor import SuperConductor
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import ServiceGroup


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApiOptions:
    """The options that change the API's answers.

    ``max_request_body_size`` and ``max_image_size`` (of an upload) are bytes.
    ``quota`` has the default limits of ``instances``, ``cores``, ``ram`` (MiB),
    ``metadata_items`` (of each server), ``injected_files`` (into each server, with the bytes of a
    path and of a file's content), ``server_groups``, ``server_group_members`` (of each group),
    ``key_pairs`` (of each user), ``security_groups`` and ``security_group_rules`` (of all groups of
    a project), ``networks``, ``subnets`` and ``ports``, -1: none.
    ``cell_timeout``: seconds that a list waits for a cell. ``skip_cells_away``: lists have only the
    API database's data about an unavailable cell, or none, rather than fail.
    ``instance_password``: the answer to a create has the administrator's password of the server.
    ``keeps_deleted``: servers that users delete can be restored for a while.
    ``resizes_on_same_host``: a resized server may stay on its host.
    ``verifies_images``: users may require signed images.
    ``console_seconds``: seconds that the URL of a console is valid; ``console_urls``: the bases of
    these URLs, by :data:`roost.objects.consoles.KINDS`. ``pci_aliases``: the devices that flavors
    may request by name.
    ``daemon_names``: the names of daemons in answers, by our own. ``wants_content_type``:
    a body without a content type is refused. ``instance_name_template``: how guests are named, with
    ``%(uuid)s`` and ``%(hostname)s``.
    """

    max_limit: int = 1000
    max_instances_per_request: int = 1000
    max_request_body_size: int = 114688
    max_image_size: int = 1 << 40
    public_url: str | None = None
    quota: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: {
            "instances": 10,
            "cores": 20,
            "ram": 51200,
            "metadata_items": 128,
            "server_groups": 10,
            "server_group_members": 10,
            "key_pairs": 100,
            "injected_files": 5,
            "injected_file_path_bytes": 255,
            "injected_file_content_bytes": 10240,
        }
    )
    cell_timeout: float = 5.0
    skip_cells_away: bool = True
    instance_password: bool = True
    keeps_deleted: bool = False
    resizes_on_same_host: bool = False
    verifies_images: bool = False
    console_seconds: int = 600
    console_urls: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            consoles.VNC: "http://127.0.0.1:6080/vnc_lite.html",
            consoles.SPICE: "http://127.0.0.1:6080/spice/spice_auto.html",
            consoles.SERIAL: "ws://127.0.0.1:6080/",
        }
    )
    pci_aliases: Mapping[str, PciAlias] = dataclasses.field(default_factory=dict)
    daemon_names: Mapping[str, str] = dataclasses.field(default_factory=lambda: NOVA_NAMES)
    wants_content_type: bool = False
    instance_name_template: str = "instance-%(uuid)s"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dependencies:
    """The dependencies of handlers.

    ``executor`` queries several cells at once. ``routes`` are all routes. ``networking`` checks
    the requested networks of servers; ``networks`` are those of the options.
    """

    api_database: Database
    cells: Cells
    super_conductor: SuperConductor
    scheduler: SchedulerClient
    images: ImageStore
    networks: Sequence[LocalNetwork]
    networking: Networking
    service_group: ServiceGroup
    policy: Policy
    routes: Sequence[Route]
    authentication: Authentication
    executor: futures.Executor
    options: ApiOptions = dataclasses.field(default_factory=ApiOptions)

    def now(self) -> datetime.datetime:
        """Return the time by the clock of the API database, which all daemons share."""
        return self.api_database.now()
