"""JSON Schemas of answers, for the OpenAPI document, by handler (``Class.method``).

Answers grow with microversions and with the caller's rights, so a schema promises only the fields
that are always there; an answer may have more.
"""

from collections.abc import Mapping
from typing import Any, Final

Document = Mapping[str, Any]

_TEXT: Final = {"type": "string"}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_NUMBER: Final = {"type": "integer"}
_LINKS: Final = {
    "type": "array",
    "items": {"type": "object", "properties": {"rel": _TEXT, "href": _TEXT}},
}


def _object(properties: Document) -> Document:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _one(name: str, inner: Document) -> Document:
    return _object({name: inner})


def _many(name: str, inner: Document) -> Document:
    """Return ``{name: [inner, ...]}``, with a link to the next page if there is one."""
    shown = _object({name: {"type": "array", "items": inner}})
    return {**shown, "properties": {**shown["properties"], f"{name}_links": _LINKS}}


_BRIEF: Final = _object({"id": _TEXT, "name": _TEXT, "links": _LINKS})
_FLAVOR: Final = _object(
    {
        **_BRIEF["properties"],
        "ram": _NUMBER,
        "disk": _NUMBER,
        "vcpus": _NUMBER,
        "OS-FLV-EXT-DATA:ephemeral": _NUMBER,
        "os-flavor-access:is_public": {"type": "boolean"},
    }
)
_ACCESS: Final = _many("flavor_access", _object({"flavor_id": _TEXT, "tenant_id": _TEXT}))
_ACTION_RESULT: Final = {
    "type": "object",
    "description": "The output of os-getConsoleOutput, or the password that was set.",
    "properties": {"output": _TEXT, "adminPass": _TEXT},
}
_SPECS: Final = {"type": "object", "additionalProperties": _TEXT}
_INTERFACE: Final = _object(
    {
        "port_state": _TEXT,
        "fixed_ips": {"type": "array", "items": {"type": "object"}},
        "mac_addr": _TEXT,
        "net_id": _TEXT,
        "port_id": _TEXT,
    }
)
_EXTERNAL_EVENT: Final = _object(
    {"name": _TEXT, "server_uuid": _TEXT, "status": _TEXT, "code": _NUMBER}
)
_TAGS: Final = {"type": "array", "items": _TEXT}
# The answer to an update of a server; before 2.75 it has fewer fields than GET.
_CHANGED: Final = _object(
    {
        **_BRIEF["properties"],
        "status": _TEXT,
        "tenant_id": _TEXT,
        "user_id": _MAYBE_TEXT,
        "metadata": _SPECS,
        "hostId": _TEXT,
        "addresses": {"type": "object"},
        "created": _TEXT,
        "updated": _TEXT,
    }
)
_SERVER: Final = _object(
    {
        **_CHANGED["properties"],
        "OS-EXT-STS:vm_state": _MAYBE_TEXT,
        "OS-EXT-STS:task_state": _MAYBE_TEXT,
    }
)
_CREATED: Final = {
    "anyOf": [
        _one("server", _object({"id": _TEXT, "links": _LINKS})),
        _object({"reservation_id": _TEXT}),
    ]
}
_ACTION: Final = _object(
    {
        "action": _TEXT,
        "instance_uuid": _TEXT,
        "request_id": _MAYBE_TEXT,
        "user_id": _MAYBE_TEXT,
        "project_id": _MAYBE_TEXT,
        "start_time": _MAYBE_TEXT,
        "message": _MAYBE_TEXT,
    }
)
_GROUP: Final = _object(
    {"id": _TEXT, "name": _TEXT, "members": {"type": "array", "items": _TEXT}},
)
_KEYPAIR: Final = _object({"name": _TEXT, "public_key": _TEXT, "fingerprint": _TEXT})
_OWN_KEYPAIR: Final = _object({**_KEYPAIR["properties"], "user_id": _TEXT})
_SERVICE: Final = _object(
    {
        "id": {"type": ["string", "integer"]},
        "binary": _TEXT,
        "host": _TEXT,
        "zone": _TEXT,
        "status": {"enum": ["enabled", "disabled"]},
        "state": {"enum": ["up", "down"]},
    }
)
_HYPERVISOR: Final = _object(
    {
        "id": {"type": ["string", "integer"]},
        "hypervisor_hostname": _TEXT,
        "status": {"enum": ["enabled", "disabled"]},
        "state": {"enum": ["up", "down"]},
    }
)
_DETAILED_HYPERVISOR: Final = _object(
    {
        **_HYPERVISOR["properties"],
        "host_ip": _MAYBE_TEXT,
        "hypervisor_type": _TEXT,
        "hypervisor_version": _NUMBER,
        "service": _object({"host": _TEXT, "disabled_reason": _MAYBE_TEXT}),
    }
)
_UPTIME: Final = _object({**_HYPERVISOR["properties"], "uptime": _TEXT})
_AGGREGATE: Final = _object(
    {"id": _NUMBER, "name": _TEXT, "availability_zone": _MAYBE_TEXT, "created_at": _MAYBE_TEXT}
)
_ZONES: Final = _many("availabilityZoneInfo", _object({"zoneName": _TEXT}))
_LIMITS: Final = _one("limits", _object({"absolute": {"type": "object"}}))
_QUOTAS: Final = {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
_QUOTA_DETAILS: Final = {
    "type": "object",
    "properties": {"id": _TEXT},
    "additionalProperties": _object({"in_use": _NUMBER, "limit": _NUMBER, "reserved": _NUMBER}),
}
_HOURS: Final = {"type": "number"}
_USAGE: Final = {
    "type": "object",
    "properties": {
        "start": _TEXT,
        "stop": _TEXT,
        "tenant_id": _TEXT,
        "total_hours": _HOURS,
        "total_local_gb_usage": _HOURS,
        "total_memory_mb_usage": _HOURS,
        "total_vcpus_usage": _HOURS,
        "server_usages": {"type": "array", "items": {"type": "object"}},
    },
}
_AUDIT_LOG: Final = _object(
    {
        "hosts_not_run": {"type": "array", "items": _TEXT},
        "log": {"type": "object"},
        "num_hosts": _NUMBER,
        "num_hosts_done": _NUMBER,
        "num_hosts_not_run": _NUMBER,
        "num_hosts_running": _NUMBER,
        "overall_status": _TEXT,
        "period_beginning": _TEXT,
        "period_ending": _TEXT,
        "total_errors": _NUMBER,
        "total_instances": _NUMBER,
    }
)
_OLD_NETWORK: Final = _object({"id": _TEXT, "label": _TEXT, "cidr": _MAYBE_TEXT})
_FLOATING_IP: Final = _object(
    {"id": _TEXT, "ip": _TEXT, "pool": _TEXT, "fixed_ip": _MAYBE_TEXT, "instance_id": _MAYBE_TEXT}
)
_MIGRATION: Final = _object(
    {"id": _NUMBER, "instance_uuid": _TEXT, "status": _TEXT, "source_compute": _MAYBE_TEXT}
)
_EXTENSION: Final = _object({"name": _TEXT, "alias": _TEXT, "description": _TEXT, "updated": _TEXT})
_IMAGE: Final = _object({"id": _TEXT, "name": _MAYBE_TEXT, "status": _TEXT, "visibility": _TEXT})
_IMAGE_MEMBER: Final = _object({"image_id": _TEXT, "member_id": _TEXT, "status": _TEXT})
_HOST: Final = _object({"host_name": _TEXT, "service": _TEXT, "zone": _TEXT})
_OLD_IMAGE: Final = _object({**_BRIEF["properties"], "status": _TEXT, "progress": _NUMBER})
_NETWORK: Final = _object({"id": _TEXT, "name": _TEXT, "status": _TEXT})
_SUBNET: Final = _object({"id": _TEXT, "name": _TEXT, "network_id": _TEXT, "cidr": _TEXT})
_PORT: Final = _object(
    {"id": _TEXT, "network_id": _TEXT, "mac_address": _TEXT, "device_id": _TEXT, "status": _TEXT}
)
_SECURITY_GROUP: Final = _object({"id": _TEXT, "name": _TEXT, "description": _TEXT})
_SECURITY_RULE: Final = _object(
    {"id": _TEXT, "security_group_id": _TEXT, "direction": _TEXT, "ethertype": _TEXT}
)
_OLD_SECURITY_RULE: Final = _object(
    {"id": _TEXT, "parent_group_id": _TEXT, "group": {"type": "object"}}
)
_REMOTE_CONSOLE: Final = _object({"protocol": _TEXT, "type": _TEXT, "url": _TEXT})
_CONNECTION: Final = _object(
    {"instance_uuid": _TEXT, "host": _TEXT, "port": _NUMBER, "internal_access_path": _MAYBE_TEXT}
)
_VERSION: Final = _object({"id": _TEXT, "status": _TEXT, "links": _LINKS})

ANSWERS: Final[Mapping[str, Document]] = {
    "Versions.list_compute": _many("versions", _VERSION),
    "Versions.show_compute": _one("version", _VERSION),
    "Versions.list_image": _many("versions", _VERSION),
    "Versions.list_network": _many("versions", _VERSION),
    "Versions.show_network": _many("resources", {"type": "object"}),
    "OpenApi.show": _object({"openapi": _TEXT, "info": {"type": "object"}}),
    "Flavors.list_brief": _many("flavors", _BRIEF),
    "Flavors.list_detailed": _many("flavors", _FLAVOR),
    "Flavors.show": _one("flavor", _FLAVOR),
    "Flavors.create": _one("flavor", _FLAVOR),
    "Flavors.update": _one("flavor", _FLAVOR),
    "FlavorAccess.list_all": _ACCESS,
    "FlavorAccess.act": _ACCESS,
    "FlavorExtraSpecs.list_all": _one("extra_specs", _SPECS),
    "FlavorExtraSpecs.create": _one("extra_specs", _SPECS),
    "FlavorExtraSpecs.show": _SPECS,
    "FlavorExtraSpecs.update": _SPECS,
    "Servers.list_brief": _many("servers", _BRIEF),
    "Servers.list_detailed": _many("servers", _SERVER),
    "Servers.show": _one("server", _SERVER),
    "Servers.create": _CREATED,
    "Servers.update": _one("server", _CHANGED),
    "ServerMetadata.list_all": _one("metadata", _SPECS),
    "ServerMetadata.merge": _one("metadata", _SPECS),
    "ServerMetadata.replace": _one("metadata", _SPECS),
    "ServerMetadata.show": _one("meta", _SPECS),
    "ServerMetadata.update": _one("meta", _SPECS),
    "ServerTags.list_all": _one("tags", _TAGS),
    "ServerTags.replace": _one("tags", _TAGS),
    "ServerActions.act 200": _ACTION_RESULT,
    "RemoteConsoles.create": _one("remote_console", _REMOTE_CONSOLE),
    "ConsoleTokens.show": _one("console", _CONNECTION),
    "InstanceActions.list_brief": _many("instanceActions", _ACTION),
    "InstanceActions.show": _one("instanceAction", _ACTION),
    "ServerInterfaces.list_all": _many("interfaceAttachments", _INTERFACE),
    "ServerInterfaces.attach": _one("interfaceAttachment", _INTERFACE),
    "ServerInterfaces.show": _one("interfaceAttachment", _INTERFACE),
    "ServerExternalEvents.create": _many("events", _EXTERNAL_EVENT),
    "ServerExternalEvents.create 207": _many("events", _EXTERNAL_EVENT),
    "ServerGroups.list_all": _many("server_groups", _GROUP),
    "ServerGroups.create": _one("server_group", _GROUP),
    "ServerGroups.show": _one("server_group", _GROUP),
    "Keypairs.list_all": _many("keypairs", _one("keypair", _KEYPAIR)),
    "Keypairs.create": _one("keypair", _OWN_KEYPAIR),
    "Keypairs.show": _one("keypair", _OWN_KEYPAIR),
    "Services.list_all": _many("services", _SERVICE),
    "Services.update": _one("service", _SERVICE),
    "Services.update_legacy": _one("service", {"type": "object"}),
    "Hypervisors.list_brief": _many("hypervisors", _HYPERVISOR),
    "Hypervisors.list_detailed": _many("hypervisors", _DETAILED_HYPERVISOR),
    "Hypervisors.statistics": _one("hypervisor_statistics", _object({"count": _NUMBER})),
    "Hypervisors.show": _one("hypervisor", _DETAILED_HYPERVISOR),
    "Hypervisors.uptime": _one("hypervisor", _UPTIME),
    "Hypervisors.search": _many("hypervisors", _HYPERVISOR),
    "Hypervisors.servers": _many("hypervisors", _HYPERVISOR),
    "Aggregates.list_all": _many("aggregates", _AGGREGATE),
    "Aggregates.create": _one("aggregate", _AGGREGATE),
    "Aggregates.show": _one("aggregate", _AGGREGATE),
    "Aggregates.update": _one("aggregate", _AGGREGATE),
    "Aggregates.act": _one("aggregate", _AGGREGATE),
    "AvailabilityZones.list_brief": _ZONES,
    "AvailabilityZones.list_detailed": _ZONES,
    "Limits.show": _LIMITS,
    "QuotaSets.show": _one("quota_set", _QUOTAS),
    "QuotaSets.show_defaults": _one("quota_set", _QUOTAS),
    "QuotaSets.show_detail": _one("quota_set", _QUOTA_DETAILS),
    "QuotaSets.update": _one("quota_set", _QUOTAS),
    "QuotaClassSets.show": _one("quota_class_set", _QUOTAS),
    "QuotaClassSets.update": _one("quota_class_set", _QUOTAS),
    "TenantUsage.list_all": _many("tenant_usages", _USAGE),
    "TenantUsage.show": _one("tenant_usage", _USAGE),
    "UsageAuditLog.show_last": _one("instance_usage_audit_logs", _AUDIT_LOG),
    "UsageAuditLog.show_before": _one("instance_usage_audit_log", _AUDIT_LOG),
    "Migrations.list_all": _many("migrations", _MIGRATION),
    "Migrations.list_of_server": _many("migrations", _MIGRATION),
    "VolumeAttachments.list_all": _many("volumeAttachments", {"type": "object"}),
    "Extensions.list_all": _many("extensions", _EXTENSION),
    "Extensions.show": _one("extension", _EXTENSION),
    "OsNetworks.list_all": _many("networks", _OLD_NETWORK),
    "OsNetworks.show": _one("network", _OLD_NETWORK),
    "TenantNetworks.list_all": _many("networks", _OLD_NETWORK),
    "TenantNetworks.show": _one("network", _OLD_NETWORK),
    "FloatingIps.list_all": _many("floating_ips", _FLOATING_IP),
    "FloatingIps.list_pools": _many("floating_ip_pools", _object({"name": _TEXT})),
    "FloatingIps.show": _one("floating_ip", _FLOATING_IP),
    "FloatingIps.create": _one("floating_ip", _FLOATING_IP),
    "OsSecurityGroups.list_all": _many("security_groups", _SECURITY_GROUP),
    "OsSecurityGroups.show": _one("security_group", _SECURITY_GROUP),
    "OsSecurityGroups.create": _one("security_group", _SECURITY_GROUP),
    "OsSecurityGroups.update": _one("security_group", _SECURITY_GROUP),
    "OsSecurityGroupRules.create": _one("security_group_rule", _OLD_SECURITY_RULE),
    "Hosts.list_all": _many("hosts", _HOST),
    "Hosts.show": _many("host", _object({"resource": {"type": "object"}})),
    "ImageProxies.list_brief": _many("images", _BRIEF),
    "ImageProxies.list_detail": _many("images", _OLD_IMAGE),
    "ImageProxies.show": _one("image", _OLD_IMAGE),
    "ImageProxyMetadata.list_all": _one("metadata", _SPECS),
    "ImageProxyMetadata.merge": _one("metadata", _SPECS),
    "ImageProxyMetadata.replace": _one("metadata", _SPECS),
    "ImageProxyMetadata.show": _one("meta", _SPECS),
    "ImageProxyMetadata.update": _one("meta", _SPECS),
    "Images.list_all": _many("images", _IMAGE),
    "Images.show": _IMAGE,
    "ImageMembers.list_all": _many("members", _IMAGE_MEMBER),
    "ImageMembers.create": _IMAGE_MEMBER,
    "ImageMembers.show": _IMAGE_MEMBER,
    "ImageMembers.update": _IMAGE_MEMBER,
    "Images.tasks": _many("tasks", {"type": "object"}),
    "ImageEdits.create": _IMAGE,
    "ImageEdits.update": _IMAGE,
    "Networks.list_all": _many("networks", _NETWORK),
    "Networks.show": _one("network", _NETWORK),
    "Networks.create": _one("network", _NETWORK),
    "Networks.update": _one("network", _NETWORK),
    "NetworkTags.list_all": _one("tags", _TAGS),
    "NetworkTags.replace": _one("tags", _TAGS),
    "Subnets.list_all": _many("subnets", _SUBNET),
    "Subnets.show": _one("subnet", _SUBNET),
    "Subnets.create": _one("subnet", _SUBNET),
    "Subnets.update": _one("subnet", _SUBNET),
    "Ports.list_all": _many("ports", _PORT),
    "Ports.show": _one("port", _PORT),
    "Ports.create": _one("port", _PORT),
    "Ports.update": _one("port", _PORT),
    "SecurityGroups.list_all": _many("security_groups", _SECURITY_GROUP),
    "SecurityGroups.show": _one("security_group", _SECURITY_GROUP),
    "SecurityGroups.create": _one("security_group", _SECURITY_GROUP),
    "SecurityGroups.update": _one("security_group", _SECURITY_GROUP),
    "SecurityGroupRules.list_all": _many("security_group_rules", _SECURITY_RULE),
    "SecurityGroupRules.show": _one("security_group_rule", _SECURITY_RULE),
    "SecurityGroupRules.create": _one("security_group_rule", _SECURITY_RULE),
    "Networks.extensions": _many("extensions", {"type": "object"}),
}
