"""A scheduler that keeps its promises: claims by instance, room by host, all or none."""

import copy

from roost import exception
from tests.builders import CELL1, a_selection


class FakeScheduler:
    """Stands behind ``SchedulerClient``'s methods; ``room`` counts instances per host.

    ``asked`` has requests that were asked for alone, ``together`` how many were at once.
    ``selections`` has those that claims made from now on hold, by host, where that matters;
    ``cells`` those hosts that are not in the first cell. Of an instance that moves only one claim
    is kept; ``released`` has the hosts of all claims that were released.
    """

    def __init__(self, **room):
        self.room = room or {"h1": 10, "h2": 10, "h3": 10}
        self.claims = {}
        self.selections = {}
        self.cells = {}
        self.asked = []
        self.together = []
        self.away = False
        self.released = []
        self.confirmed = []

    def select_destinations(
        self, context, *, request_spec, instance_uuids, alternates, beside=None
    ):
        self._reach()
        self.asked.append((request_spec, list(instance_uuids)))
        return [self._choose(request_spec, uuid, alternates) for uuid in instance_uuids]

    def select_for_requests(self, context, *, request_specs, instance_uuids, alternates):
        self._reach()
        self.together.append(len(request_specs))
        return [
            self._answer(spec, uuids, alternates)
            for spec, uuids in zip(request_specs, instance_uuids, strict=True)
        ]

    def _answer(self, spec, uuids, alternates):
        try:
            return [self._choose(spec, uuid, alternates) for uuid in uuids]
        except exception.NoValidHost:
            return None

    def move_claim(self, context, *, instance_uuid, request_spec, to, leaving=None, arrived=False):
        self._reach()
        if arrived:
            self.confirmed.append((instance_uuid, to.host))
        kept = self.claims.get(instance_uuid) == to.host
        if not kept and self._free(to.host) < 1:
            raise exception.NoCapacity(f"no room on {to.host}")
        self.claims[instance_uuid] = to.host
        claimed = to.obj_clone()
        claimed.claimed = True
        return claimed if kept else self.selections.get(to.host, claimed)

    def expire(self, instance_uuid):
        """Let a claim run out that no host has confirmed."""
        del self.claims[instance_uuid]

    def release_claims(self, context, *, instance_uuids, host=None, reserved=False):
        self._reach()
        self.released += [(uuid, host) for uuid in instance_uuids]
        for uuid in instance_uuids:
            if host in (None, self.claims.get(uuid)):
                self.claims.pop(uuid, None)

    def _choose(self, spec, uuid, alternates):
        ignored = set(spec.ignore_hosts)
        fit = [h for h in self.room if h not in ignored and self._free(h) > 0]
        if self.claims.get(uuid) in self.room and self.claims[uuid] not in ignored:
            fit = [self.claims[uuid], *[h for h in fit if h != self.claims[uuid]]]
        if not fit:
            raise exception.NoValidHost(
                "No valid host was found. 3 hosts: no room",
                uncounted="No valid host was found. no room",
                asked={"enabled": 3, "ram": 3},
                refusals={"ram": {"no room": 3}},
                nearest={"ram": {"host": "h1", "node": "h1", "lacks": "none free"}},
            )
        self.claims[uuid] = fit[0]
        return [
            a_selection(host, claimed=host == fit[0], cell_uuid=self.cells.get(host, CELL1))
            for host in fit[: alternates + 1]
        ]

    def _free(self, host):
        return self.room[host] - sum(claimed == host for claimed in self.claims.values())

    def _reach(self):
        if self.away:
            raise exception.Unavailable("the scheduler does not answer")


class FakeNotifier:
    """Keeps what is sent; ``publishers`` and ``errors`` have those of each notification."""

    def __init__(self):
        self.enabled = True
        self.sent = []
        self.publishers = []
        self.errors = []

    def info(self, context, event, payload, *, publisher=None):
        self.sent.append((event, copy.deepcopy(payload)))
        self.publishers.append(publisher)

    def error(self, context, event, payload, *, publisher=None):
        self.errors.append(event)
        self.info(context, event, payload, publisher=publisher)

    def events(self):
        return [event for event, _payload in self.sent]
