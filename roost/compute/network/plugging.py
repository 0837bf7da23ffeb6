"""Waiting until the ports of an instance work."""

import threading
import time
from collections.abc import Collection, Iterable
from typing import Final

_LOOK: Final = 0.5  # seconds between two looks whether the waiting is to end


class Plugging:
    """Remembers what was heard of ports, from before they are bound until nobody waits any more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heard: dict[str, dict[str, bool]] = {}

    def expect(self, instance_uuid: str) -> None:
        """Remember from now on what is heard of an instance's ports, and nothing from before."""
        with self._changed:
            self._heard[instance_uuid] = {}

    def hear(self, instance_uuid: str, port_id: str, *, works: bool) -> None:
        with self._changed:
            if instance_uuid in self._heard:
                self._heard[instance_uuid][port_id] = works
                self._changed.notify_all()

    def forget(self, instance_uuid: str) -> None:
        with self._changed:
            self._heard.pop(instance_uuid, None)

    def wait(
        self,
        instance_uuid: str,
        port_ids: Collection[str],
        *,
        seconds: float,
        stopped: threading.Event,
    ) -> dict[str, bool]:
        """Return what was heard of these ports: as soon as it is all, one failed, or time is up."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                heard = self._of(instance_uuid, port_ids)
                left = deadline - time.monotonic()
                done = len(heard) == len(port_ids) or not all(heard.values())
                if done or left <= 0 or stopped.is_set():
                    return heard
                self._changed.wait(min(left, _LOOK))

    def _of(self, instance_uuid: str, port_ids: Iterable[str]) -> dict[str, bool]:
        heard = self._heard.get(instance_uuid, {})
        return {port_id: heard[port_id] for port_id in port_ids if port_id in heard}
