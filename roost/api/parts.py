"""What the API stands on, handed in by whoever puts it together."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures

from roost.api.policy import Policy
from roost.cells import Cells
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.image.driver import ImageStore
from roost.networks import LocalNetwork
from roost.rpc.super_conductor import SuperConductor
from roost.scheduler.client import SchedulerClient


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options that change what the API answers.

    ``quota`` has the default limits of ``instances``, ``cores`` and ``ram`` (MiB), -1: none.
    ``service_down_time`` is in seconds. ``cell_timeout`` is how long a list waits for a cell, and
    ``cell_pause`` for how long it then does without that cell.
    """

    max_limit: int = 1000
    max_instances_per_request: int = 1000
    public_url: str | None = None
    auth_strategy: str = "noauth"
    quota: Mapping[str, int] = dataclasses.field(
        default_factory=lambda: {"instances": 10, "cores": 20, "ram": 51200}
    )
    service_down_time: float = 60.0
    cell_timeout: float = 10.0
    cell_pause: float = 15.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts that handlers use. ``executor`` asks several cells at once."""

    api_database: Database
    cells: Cells
    super_conductor: SuperConductor
    scheduler: SchedulerClient
    images: ImageStore
    networks: Sequence[LocalNetwork]
    policy: Policy
    executor: futures.Executor
    options: Options = dataclasses.field(default_factory=Options)
    now: Callable[[], datetime.datetime] = utcnow
