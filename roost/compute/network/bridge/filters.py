"""The security group rules for ports of this host, fetched from the cell and stored on disk."""

import collections
import contextlib
import dataclasses
import json
import logging
import pathlib
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from roost import exception
from roost.compute.network.bindings import read_whole, write_whole
from roost.compute.network.bridge.ports import BridgePort
from roost.context import RequestContext, admin_context
from roost.rpc.cell_conductor import CellConductor
from roost.security_groups import Filtering

LOG = logging.getLogger(__name__)


class Filters:
    """Fetches rules from the cell and stores them; an unknown network lets nothing pass.

    :param path: the file that stores them
    """

    def __init__(self, path: pathlib.Path, conductor: CellConductor, *, host: str) -> None:
        self._path = path
        self._conductor = conductor
        self._host = host
        self._asking = threading.Lock()
        self._writing = threading.Lock()
        self._known: dict[str, Filtering] | None = None
        self._held: collections.Counter[str] = collections.Counter()

    def get(self, network_id: str) -> Filtering:
        """Return the known rules of a network."""
        return self._read().get(network_id, Filtering())

    def learn(self, context: RequestContext, network_ids: Sequence[str]) -> list[str]:
        """Fetch the rules of networks, and return the networks whose rules have changed.

        One request at a time, so that an old answer never overwrites a newer one.

        :raises roost.exception.Unavailable: when the cell does not answer; nothing changes
        """
        if not network_ids:
            return []
        with self._asking:
            answer = self._ask(context, network_ids)
            return self._note(
                {network_id: Filtering.read(values) for network_id, values in answer.items()}
            )

    def _ask(self, context: RequestContext, network_ids: Sequence[str]) -> dict[str, Any]:
        try:
            return self._conductor.describe_filtering(
                context, host=self._host, network_ids=list(network_ids)
            )
        except exception.VersionTooOld as error:
            raise exception.Unavailable(
                f"the cell-conductors do not know security groups yet: {error.message}"
            ) from error

    def _note(self, fetched: dict[str, Filtering]) -> list[str]:
        with self._writing:
            known = self._read()
            changed = [name for name, filtering in fetched.items() if known.get(name) != filtering]
            if changed:
                self._write({**known, **fetched})
            return changed

    def have(self, ports: Sequence[BridgePort]) -> None:
        """Fetch the rules of ports; known rules of all of them suffice if the cell is unavailable.

        :raises roost.exception.Unavailable: when these are unknown, too
        """
        try:
            self.learn(admin_context(), sorted({port.network_id for port in ports}))
        except exception.Unavailable:
            if any(port.id not in self.get(port.network_id).ports for port in ports):
                raise
            LOG.warning("the cell does not answer: using the stored rules of security groups")

    @contextlib.contextmanager
    def held(self, network_ids: Collection[str]) -> Iterator[None]:
        """Protect networks from :meth:`keep` during the block: their ports are being plugged."""
        with self._writing:
            self._held.update(network_ids)
        try:
            yield
        finally:
            with self._writing:
                self._held -= collections.Counter(network_ids)

    def keep(self, network_ids: Collection[str]) -> None:
        """Drop the rules of all networks but these and those that are held."""
        with self._writing:
            known, wanted = self._read(), {*network_ids, *self._held}
            if known.keys() - wanted:
                self._write({name: known[name] for name in known if name in wanted})

    def _read(self) -> dict[str, Filtering]:
        if self._known is None:
            stored = read_whole(self._path) if self._path.exists() else {}
            self._known = {name: Filtering.read(values) for name, values in stored.items()}
        return self._known

    def _write(self, known: dict[str, Filtering]) -> None:
        if known:
            stored = {name: dataclasses.asdict(filtering) for name, filtering in known.items()}
            write_whole(self._path, json.dumps(stored))
        else:
            self._path.unlink(missing_ok=True)
        self._known = known
