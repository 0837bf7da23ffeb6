"""API extensions, for clients that look for an extension before they use it.

Compute has none any more; the list names the former ones.
"""

from typing import Any, Final

from roost import exception
from roost.api import service_catalog
from roost.api.dependencies import Dependencies
from roost.api.policy import ANYBODY, rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row

READ_POLICY = "os_compute_api:extensions"

RULES = [
    rule(
        READ_POLICY,
        ANYBODY,
        "See which of the former extensions there are.",
        "GET /extensions",
        "GET /extensions/{alias}",
    ),
]


# Alias -> name, and what it is for. Extensions are no more, so all tell the same time and space.
SERVED: Final = {
    "OS-DCF": ("DiskConfig", "Who divides the disks of servers."),
    "OS-EXT-AZ": ("ExtendedAvailabilityZone", "The zones of servers."),
    "OS-EXT-IPS": ("ExtendedIps", "The types of servers' addresses."),
    "OS-EXT-IPS-MAC": ("ExtendedIpsMac", "The MAC addresses of servers."),
    "OS-EXT-SRV-ATTR": ("ExtendedServerAttributes", "What administrators see of servers."),
    "OS-EXT-STS": ("ExtendedStatus", "The states of servers."),
    "OS-FLV-DISABLED": ("FlavorDisabled", "Whether flavors are disabled."),
    "OS-FLV-EXT-DATA": ("FlavorExtraData", "The ephemeral disks of flavors."),
    "OS-SCH-HNT": ("SchedulerHints", "Hints for the scheduler."),
    "OS-SRV-USG": ("ServerUsage", "When servers came up and went."),
    "os-agents": ("Agents", "Builds of guest agents; given up, and 410."),
    "os-aggregates": ("Aggregates", "Hosts that operators put together."),
    "os-attach-interfaces": ("AttachInterfaces", "Interfaces come and go while servers run."),
    "os-availability-zone": ("AvailabilityZone", "Zones, and servers in them."),
    "os-block-device-mapping": ("BlockDeviceMapping", "The disks of new servers."),
    "os-config-drive": ("ConfigDrive", "Drives with what a server is to know."),
    "os-console-auth-tokens": ("ConsoleAuthTokens", "Where the tokens of consoles lead."),
    "os-consoles": ("Consoles", "Consoles of servers to type at."),
    "os-extended-quotas": ("ExtendedQuotas", "Quotas by force, and without own ones."),
    "os-flavor-access": ("FlavorAccess", "Whether flavors are public."),
    "os-flavor-extra-specs": ("FlavorExtraSpecs", "What flavors ask of hosts."),
    "os-flavor-manage": ("FlavorManage", "Flavors come and go."),
    "os-flavor-rxtx": ("FlavorRxtx", "The share of the network that flavors have."),
    "os-flavor-swap": ("FlavorSwap", "The swap of flavors."),
    "os-floating-ip-pools": ("FloatingIpPools", "Pools of floating addresses."),
    "os-floating-ips": ("FloatingIps", "Floating addresses."),
    "os-hosts": ("Hosts", "Daemons by host, and who uses what of one."),
    "os-hypervisors": ("Hypervisors", "What runs the servers."),
    "os-instance-actions": ("InstanceActions", "What was done to servers."),
    "os-instance_usage_audit_log": ("OSInstanceUsageAuditLog", "Which hosts audited usage."),
    "os-interface": ("Interfaces", "The same, by the word of its path."),
    "os-keypairs": ("Keypairs", "Keys by which users log in to their servers."),
    "os-lock-server": ("LockServer", "Locks that keep servers as they are."),
    "os-migrations": ("Migrations", "Servers on their way to other hosts."),
    "os-multiple-create": ("MultipleCreate", "Several servers by one request."),
    "os-networks": ("Networks", "The networks of the cloud."),
    "os-pause-server": ("PauseServer", "Servers pause."),
    "os-quota-class-sets": ("QuotaClasses", "Quotas of classes of projects."),
    "os-quota-sets": ("Quotas", "Quotas of projects."),
    "os-server-external-events": ("ServerExternalEvents", "What happened to servers elsewhere."),
    "os-personality": ("Personality", "Files that users give their servers."),
    "os-security-group-rules": ("SecurityGroupRules", "What security groups let in."),
    "os-security-groups": ("SecurityGroups", "Security groups, and those of servers."),
    "os-server-group-quotas": ("ServerGroupQuotas", "Quotas of server groups."),
    "os-server-groups": ("ServerGroups", "Servers that are together, or apart."),
    "os-server-list-multi-status": ("ServerListMultiStatus", "Lists by several statuses."),
    "os-server-password": ("ServerPassword", "Passwords that servers tell of themselves."),
    "os-server-sort-keys": ("ServerSortKeys", "Lists in an order of one's own."),
    "os-server-start-stop": ("ServerStartStop", "Servers stop and start."),
    "os-services": ("Services", "The daemons of the cloud."),
    "os-simple-tenant-usage": ("SimpleTenantUsage", "What projects used over some time."),
    "os-suspend-server": ("SuspendServer", "Servers are suspended and resume."),
    "os-tenant-networks": ("OSTenantNetworks", "The networks of a project."),
    "os-used-limits": ("UsedLimits", "Usage beside limits."),
    "os-used-limits-for-admin": ("UsedLimitsForAdmin", "The same of any project."),
    "os-user-data": ("UserData", "Data that users give their servers."),
}


class Extensions:
    """Handlers of ``/extensions``."""

    def __init__(self, dependencies: Dependencies) -> None:
        roots = service_catalog.roots(dependencies)
        self._served = [
            alias for alias in SERVED if service_catalog.message(f"/v2.1/{alias}", roots) is None
        ]

    def list_all(self, _call: Call) -> Answer:
        return Answer({"extensions": [_view(alias) for alias in sorted(self._served)]})

    def show(self, call: Call) -> Answer:
        alias = call.params["alias"]
        if alias not in self._served:
            raise exception.NotFound
        return Answer({"extension": _view(alias)})


def _view(alias: str) -> dict[str, Any]:
    name, description = SERVED[alias]
    return {
        "name": name,
        "alias": alias,
        "description": description,
        "links": [],
        "namespace": "http://docs.openstack.org/compute/ext/fake_xml",
        "updated": "2014-12-03T00:00:00Z",
    }


ROUTES: Final[tuple[Route, ...]] = (
    row("GET /v2.1/extensions", (Extensions, Extensions.list_all), READ_POLICY),
    row("GET /v2.1/extensions/{alias}", (Extensions, Extensions.show), READ_POLICY),
)
