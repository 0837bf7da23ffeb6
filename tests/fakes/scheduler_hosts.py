"""What the API asks of the scheduler: which hosts there are, and to let one take servers or not."""

from roost import exception
from tests.builders import a_selection


class FakeSchedulerHosts:
    """Stands behind ``SchedulerClient`` for the API.

    ``enabled``, ``words``, ``aggregates`` and ``groups`` keep what it was told; ``claimed`` has the
    hosts that hold claims; ``sent`` counts the reports that it has sent, ``claims`` has the claims
    as they are listed. ``moved`` has the claims
    that it has made beside others, ``released`` those that it has released. ``chosen`` is the host
    that it chooses.
    """

    def __init__(self, *reports):
        self.reports = list(reports)
        self.enabled = {}
        self.words = []
        self.claimed = set()
        self.claims = []
        self.aggregates = []
        self.groups = []
        self.away = False
        self.sent = 0
        self.moved, self.asked = [], []
        self.released = []
        self.chosen = "new-host"

    def check(self, context):
        self._reach()

    def all_hosts(self, context, *, marker=None, page_size=1000):
        return iter(self.list_hosts(context, marker=marker))

    def list_hosts(self, context, *, marker=None, limit=1000, node_uuid=None, host=None, node=None):
        self._reach()
        found = [
            report
            for report in self.reports
            if (marker is None or report.host > marker)
            and node_uuid in (None, report.node_uuid)
            and host in (None, report.host)
            and node in (None, report.node)
        ][:limit]
        self.sent += len(found)
        return found

    def list_claims(
        self, context, *, marker=None, limit=1000, host=None, instance_uuids=None, project_id=None
    ):
        self._reach()
        return [
            claim
            for claim in self.claims
            if host in (None, claim["host"])
            and project_id in (None, claim["project_id"])
            and (instance_uuids is None or claim["instance_uuid"] in instance_uuids)
        ]

    def all_claims(self, context, **filters):
        return iter(self.list_claims(context, **filters))

    def remove_host(self, context, *, host):
        self._reach()
        if host in self.claimed:
            raise exception.Conflict(f"The host {host} holds claims.")
        self.reports = [report for report in self.reports if report.host != host]

    def set_host_enabled(self, context, *, host, enabled, version):
        self._reach()
        self.enabled[host] = enabled
        self.words.append((enabled, version))

    def update_aggregates(self, context, *, aggregates, snapshot=None):
        self._reach()
        self.aggregates += aggregates

    def update_groups(self, context, *, groups, snapshot=None):
        self._reach()
        self.groups += groups

    def select_destinations(
        self, context, *, request_spec, instance_uuids, alternates, beside=None
    ):
        """Choose the host that the request names, or one that nobody else knows."""
        self._reach()
        self.asked.append(request_spec)
        host = request_spec.requested_host or self.chosen
        if host in request_spec.ignore_hosts:
            raise exception.NoValidHost("No valid host was found. 1 host: not enough CPUs")
        self.moved.append((instance_uuids, beside, host))
        return [[a_selection(host, claimed=True)]]

    def release_claims(self, context, *, instance_uuids, host=None, reserved=False):
        self._reach()
        self.released.append((instance_uuids, host))

    def _reach(self):
        if self.away:
            raise exception.Unavailable("the scheduler does not answer")
