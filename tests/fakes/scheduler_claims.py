"""Hosts and claims as the schedulers list them."""

from roost import exception
from roost.objects.allocations import total
from roost.objects.inventory import HOST_CLASSES
from tests.builders import NOW, a_report

SIZES = {"vcpus": 1, "pcpus": 0, "memory_mb": 512, "disk_gb": 1}
ONE = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def a_claim(instance_uuid, host="h1", **values):
    """A claim as it is listed."""
    return {
        "instance_uuid": instance_uuid,
        "host": host,
        "node": host,
        "cell_uuid": None,
        "project_id": "project",
        "group_uuid": None,
        "state": "confirmed",
        "created_at": NOW.isoformat(),
        "age": 0.0,
        "allocations": {"": ONE},
        **values,
    }


def a_host(host, *, claims=1, **values):
    """A host that so many ordinary claims are on."""
    used = {f"{name}_used": claims * size for name, size in SIZES.items()}
    return a_report(host, **used | values)


class FakeLedger:
    """Stands behind ``SchedulerClient`` for lists and repairs.

    ``hosts`` are reports; without any, those that the claims are on, and in use as these say.
    ``away``: no scheduler answers.
    """

    def __init__(self, *claims, hosts=None):
        self.claims = list(claims)
        self.hosts = hosts
        self.away = False
        self.done = []
        self.aggregates = []

    def check(self, context):
        if self.away:
            raise exception.Unavailable("no scheduler answers")

    def all_claims(self, context, *, host=None):
        claims = [claim for claim in self.claims if host in (None, claim["host"])]
        return iter(sorted(claims, key=lambda claim: claim["instance_uuid"]))

    def list_claims(self, context, *, instance_uuids):
        return [claim for claim in self.claims if claim["instance_uuid"] in instance_uuids]

    def list_miscounted(self, context):
        rows = [self._counted(report) for report in self.all_hosts(context)]
        return [row for row in rows if row["used"] != row["claimed"]]

    def recount(self, context, *, host):
        self.done.append(("recount", host, None))
        self.hosts = None
        return True

    def _counted(self, report):
        node = (report.host, report.node)
        held = [claim for claim in self.claims if (claim["host"], claim["node"]) == node]
        used = {name: report.amount(name, "used") for name in HOST_CLASSES}
        claimed = total(claim["allocations"][""] for claim in held)
        return {
            "host": report.host,
            "node": report.node,
            "used": {name: amount for name, amount in used.items() if amount},
            "claimed": claimed,
        }

    def all_hosts(self, context):
        if self.hosts is not None:
            return iter(self.hosts)
        named = [claim["host"] for claim in self.claims]
        return iter([a_host(name, claims=named.count(name)) for name in sorted(set(named))])

    def release_claims(self, context, *, instance_uuids, host=None, reserved=False):
        self.done.append(("release", host, sorted(instance_uuids)))
        self.claims = [c for c in self.claims if c["instance_uuid"] not in instance_uuids]

    def restore_claims(self, context, *, host, node, holdings, instance_resources=None):
        known = {report.host for report in self.all_hosts(context)}
        if host not in known:
            raise exception.NotFound(f"The schedulers do not know the host {host}, node {node}.")
        self.done.append(("restore", host, holdings))
        held = {claim["instance_uuid"] for claim in self.claims}
        return [uuid for uuid in holdings if uuid not in held]

    def remove_host(self, context, *, host):
        if any(claim["host"] == host for claim in self.claims):
            raise exception.Conflict(f"The host {host} holds claims.")
        self.hosts = [report for report in self.all_hosts(context) if report.host != host]

    def update_aggregates(self, context, *, aggregates, snapshot=None):
        self.check(context)
        self.aggregates += aggregates
