"""Makes the faults of a schedule in time and heals each when it has lasted long enough."""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence

from roost import exception
from roost.rig.chaos import faults
from roost.rig.chaos.faults import Ground
from roost.rig.chaos.schedule import Fault

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class Made:
    """A fault that was made. Times are those of ``time.monotonic``, in seconds.

    ``failed`` says why it could not be made or healed, if it could not.
    """

    fault: Fault
    began: float
    healed: float | None = None
    failed: str = ""

    def overlaps(self, since: float, until: float) -> bool:
        """Tell whether it was in force at any time between two moments."""
        return self.began <= until and (self.healed is None or self.healed >= since)


class FaultInjector:
    """Breaks a ground by a schedule, each fault in a thread of its own.

    :param tell: told of each fault when it is made and when it is healed
    """

    def __init__(
        self, ground: Ground, schedule: Sequence[Fault], *, tell: Callable[[Made], None]
    ) -> None:
        self._ground = ground
        self._schedule = schedule
        self._tell = tell
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._locks = {fault.thing: threading.Lock() for fault in schedule}
        self.made: list[Made] = []

    def start(self) -> None:
        """Begin; returns at once."""
        began = time.monotonic()
        for fault in self._schedule:
            thread = threading.Thread(target=self._run, args=(fault, began), daemon=True)
            thread.start()
            self._threads.append(thread)

    def heal_all(self) -> None:
        """Make no more faults, heal those in force, and return when all is whole."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def in_force(self) -> list[Made]:
        return [made for made in self.made if made.healed is None]

    def _run(self, fault: Fault, began: float) -> None:
        """Break a thing in time, once it is whole: healing may take longer than was planned."""
        self._over.wait(began + fault.at - time.monotonic())
        with self._locks[fault.thing]:
            if not self._over.is_set():
                self._make_and_heal(fault)

    def _make_and_heal(self, fault: Fault) -> None:
        made = Made(fault, time.monotonic())
        self.made.append(made)
        self._attempt(faults.make, made)
        self._tell(made)
        self._over.wait(fault.lasts)
        self._attempt(faults.heal, made)
        made.healed = time.monotonic()
        self._tell(made)

    def _attempt(self, act: Callable[[Ground, Fault], None], made: Made) -> None:
        try:
            act(self._ground, made.fault)
        except (exception.RoostError, OSError) as error:
            LOG.exception("%s: %s", act.__name__, made.fault)
            made.failed = f"{act.__name__}: {error}"
