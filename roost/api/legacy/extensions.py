"""API extensions, for clients that look for an extension before they use it.

Compute has none any more; the list names the former ones.
"""

from typing import Any, Final

from roost import exception
from roost.api import service_catalog
from roost.api.dependencies import Dependencies
from roost.api.policy import ANYBODY, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row

READ_POLICY = Rule(
    "os_compute_api:extensions", ANYBODY, "See which of the former extensions there are."
)


# Alias -> name and description. All show the same ``updated`` and ``namespace``.
SERVED: Final = {
    "OS-DCF": ("DiskConfig", "How the disks of servers are partitioned."),
    "OS-EXT-AZ": ("ExtendedAvailabilityZone", "The zones of servers."),
    "OS-EXT-IPS": ("ExtendedIps", "The types of servers' addresses."),
    "OS-EXT-IPS-MAC": ("ExtendedIpsMac", "The MAC addresses of servers."),
    "OS-EXT-SRV-ATTR": ("ExtendedServerAttributes", "Attributes of servers for administrators."),
    "OS-EXT-STS": ("ExtendedStatus", "The states of servers."),
    "OS-FLV-DISABLED": ("FlavorDisabled", "Whether flavors are disabled."),
    "OS-FLV-EXT-DATA": ("FlavorExtraData", "The ephemeral disks of flavors."),
    "OS-SCH-HNT": ("SchedulerHints", "Hints for the scheduler."),
    "OS-SRV-USG": ("ServerUsage", "When servers were launched and terminated."),
    "os-agents": ("Agents", "Builds of guest agents; removed, and 410."),
    "os-aggregates": ("Aggregates", "Groups of hosts, created by operators."),
    "os-attach-interfaces": ("AttachInterfaces", "Attach and detach interfaces of servers."),
    "os-availability-zone": ("AvailabilityZone", "Zones, and servers in them."),
    "os-block-device-mapping": ("BlockDeviceMapping", "The disks of new servers."),
    "os-config-drive": ("ConfigDrive", "Drives with the metadata of a server."),
    "os-console-auth-tokens": ("ConsoleAuthTokens", "The connections of console tokens."),
    "os-consoles": ("Consoles", "Interactive consoles of servers."),
    "os-extended-quotas": ("ExtendedQuotas", "Forced updates of quotas, and their reset."),
    "os-flavor-access": ("FlavorAccess", "Whether flavors are public."),
    "os-flavor-extra-specs": ("FlavorExtraSpecs", "Requirements of flavors on hosts."),
    "os-flavor-manage": ("FlavorManage", "Create and delete flavors."),
    "os-flavor-rxtx": ("FlavorRxtx", "The share of the network that flavors have."),
    "os-flavor-swap": ("FlavorSwap", "The swap of flavors."),
    "os-floating-ip-pools": ("FloatingIpPools", "Pools of floating addresses."),
    "os-floating-ips": ("FloatingIps", "Floating addresses."),
    "os-hosts": ("Hosts", "Daemons by host, and the usage of a host by project."),
    "os-hypervisors": ("Hypervisors", "The nodes that run servers."),
    "os-instance-actions": ("InstanceActions", "The history of actions on servers."),
    "os-instance_usage_audit_log": ("OSInstanceUsageAuditLog", "Which hosts audited usage."),
    "os-interface": ("Interfaces", "The same as os-attach-interfaces, named like its path."),
    "os-keypairs": ("Keypairs", "Keys by which users log in to their servers."),
    "os-lock-server": ("LockServer", "Locks that prevent changes of servers."),
    "os-migrations": ("Migrations", "Migrations of servers to other hosts."),
    "os-multiple-create": ("MultipleCreate", "Create several servers with one request."),
    "os-networks": ("Networks", "The networks of the cloud."),
    "os-pause-server": ("PauseServer", "Servers pause."),
    "os-quota-class-sets": ("QuotaClasses", "Quotas of classes of projects."),
    "os-quota-sets": ("Quotas", "Quotas of projects."),
    "os-server-external-events": ("ServerExternalEvents", "Events from other services."),
    "os-personality": ("Personality", "Files that users give their servers."),
    "os-security-group-rules": ("SecurityGroupRules", "The rules of security groups."),
    "os-security-groups": ("SecurityGroups", "Security groups, and those of servers."),
    "os-server-group-quotas": ("ServerGroupQuotas", "Quotas of server groups."),
    "os-server-groups": ("ServerGroups", "Affinity and anti-affinity of servers."),
    "os-server-list-multi-status": ("ServerListMultiStatus", "Lists by several statuses."),
    "os-server-password": ("ServerPassword", "Encrypted passwords of servers."),
    "os-server-sort-keys": ("ServerSortKeys", "Sort keys of lists."),
    "os-server-start-stop": ("ServerStartStop", "Servers stop and start."),
    "os-services": ("Services", "The daemons of the cloud."),
    "os-simple-tenant-usage": ("SimpleTenantUsage", "The usage of projects in a period."),
    "os-suspend-server": ("SuspendServer", "Suspend and resume servers."),
    "os-tenant-networks": ("OSTenantNetworks", "The networks of a project."),
    "os-used-limits": ("UsedLimits", "Usage along with limits."),
    "os-used-limits-for-admin": ("UsedLimitsForAdmin", "Limits and usage of any project."),
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
