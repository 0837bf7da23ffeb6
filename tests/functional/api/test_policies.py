"""Who may do what: every route, asked by everybody; the table is written by hand.

A route or rule that is not in a table fails: whoever adds one says here who may use it.
"""

import json

import pytest

from roost import conf
from roost.api import policies
from roost.api.parts import Options
from roost.api.policy import Policy
from roost.api.routes import ROUTES
from roost.db.api import flavors
from roost.db.cell import services
from tests import api_world
from tests.api_world import IMAGE, PRIVATE
from tests.builders import CELL1, PUBLIC_KEY, a_context, a_flavor

_OWN, _OTHER = "project", "another-project"
# Callers: roles and project. The things asked for belong to ``project``.
_CALLERS = {
    "nobody": ([], _OWN),
    "reader": (["reader"], _OWN),
    "member": (["member", "reader"], _OWN),
    "manager": (["manager", "member", "reader"], _OWN),
    "stranger": (["member", "reader"], _OTHER),
    "strange reader": (["reader"], _OTHER),
    "administrator": (["admin", "member", "reader"], _OWN),
    "administrator elsewhere": (["admin"], _OTHER),
    "service": (["service"], "services"),
    "administrator of the system": (["admin", "member", "reader"], None),
    "reader of a domain": (["reader"], None),
}
_SCOPES = {
    "administrator of the system": {"system_scope": "all"},
    "reader of a domain": {"domain_id": "default"},
}
_ADMINS = dict.fromkeys(("administrator", "administrator elsewhere"), "yes")
_WORKERS = dict.fromkeys(("member", "manager"), "yes") | _ADMINS
_OTHERS = dict.fromkeys(("stranger", "strange reader"), "yes")
# What each caller gets: "yes", or a status. Who is not named is forbidden it: 403.
_PUBLIC = {who: "yes" for who in _CALLERS if who not in _SCOPES}
_MANAGERS = {"manager": "yes"} | _ADMINS
_ADMIN = _ADMINS
_LOOK = {"reader": "yes"} | _WORKERS | _OTHERS  # what all projects share, or the caller's own list
_LOOK_AT_ONES_OWN = {"reader": "yes"} | _WORKERS | {"stranger": 404, "strange reader": 404}
_LOOK_AT_ONES_OWN_ONLY = {"reader": "yes"} | _WORKERS  # of other projects it is no secret either
_MAKE = _WORKERS | {"stranger": "yes"}  # in the caller's own project
_THEIRS = {"stranger": 404}
_CHANGE_ONES_OWN = _WORKERS | _THEIRS
_ROUTES = {
    "GET /": _PUBLIC,
    "GET /v2.1": _PUBLIC,
    "GET /openapi.json": _PUBLIC,
    "GET /v2.1/flavors": _LOOK,
    "POST /v2.1/flavors": _ADMIN,
    "GET /v2.1/flavors/detail": _LOOK,
    "GET /v2.1/flavors/{flavor_id}": _LOOK,
    "PUT /v2.1/flavors/{flavor_id}": _ADMIN,
    "DELETE /v2.1/flavors/{flavor_id}": _ADMIN,
    "POST /v2.1/flavors/{flavor_id}/action": _ADMIN,
    "GET /v2.1/flavors/{flavor_id}/os-flavor-access": _ADMIN,
    "GET /v2.1/flavors/{flavor_id}/os-extra_specs": _LOOK,
    "POST /v2.1/flavors/{flavor_id}/os-extra_specs": _ADMIN,
    "GET /v2.1/flavors/{flavor_id}/os-extra_specs/{key}": _LOOK,
    "PUT /v2.1/flavors/{flavor_id}/os-extra_specs/{key}": _ADMIN,
    "DELETE /v2.1/flavors/{flavor_id}/os-extra_specs/{key}": _ADMIN,
    "GET /v2.1/servers": _LOOK,
    "POST /v2.1/servers": _MAKE,
    "GET /v2.1/servers/detail": _LOOK,
    "GET /v2.1/servers/{server_id}": _LOOK_AT_ONES_OWN,
    "PUT /v2.1/servers/{server_id}": _CHANGE_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}": _CHANGE_ONES_OWN,
    "POST /v2.1/servers/{server_id}/action": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/metadata": _LOOK_AT_ONES_OWN,
    "POST /v2.1/servers/{server_id}/metadata": _CHANGE_ONES_OWN,
    "PUT /v2.1/servers/{server_id}/metadata": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/metadata/{key}": _LOOK_AT_ONES_OWN,
    "PUT /v2.1/servers/{server_id}/metadata/{key}": _CHANGE_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}/metadata/{key}": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/tags": _LOOK_AT_ONES_OWN,
    "PUT /v2.1/servers/{server_id}/tags": _CHANGE_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}/tags": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/tags/{tag}": _LOOK_AT_ONES_OWN,
    "PUT /v2.1/servers/{server_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-interface": _LOOK_AT_ONES_OWN,
    "POST /v2.1/servers/{server_id}/os-interface": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-interface/{port_id}": _LOOK_AT_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}/os-interface/{port_id}": _CHANGE_ONES_OWN,
    "POST /v2.1/os-server-external-events": _ADMIN | {"service": "yes"},
    "GET /v2.1/servers/{server_id}/diagnostics": _ADMIN,
    "POST /v2.1/servers/{server_id}/remote-consoles": _CHANGE_ONES_OWN,
    "GET /v2.1/os-console-auth-tokens/{console_token}": _ADMIN,
    "GET /v2.1/servers/{server_id}/ips": _LOOK_AT_ONES_OWN,
    "GET /v2.1/servers/{server_id}/ips/{network_label}": _LOOK_AT_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-server-password": _LOOK_AT_ONES_OWN,
    "DELETE /v2.1/servers/{server_id}/os-server-password": _CHANGE_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-security-groups": _LOOK_AT_ONES_OWN,
    "GET /v2.1/servers/{server_id}/topology": _LOOK_AT_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-instance-actions": _LOOK_AT_ONES_OWN,
    "GET /v2.1/servers/{server_id}/os-instance-actions/{request_id}": _LOOK_AT_ONES_OWN,
    "GET /v2.1/os-server-groups": _LOOK,
    "POST /v2.1/os-server-groups": _MAKE,
    "GET /v2.1/os-server-groups/{server_group_id}": _LOOK_AT_ONES_OWN,
    "DELETE /v2.1/os-server-groups/{server_group_id}": _CHANGE_ONES_OWN,
    "GET /v2.1/os-keypairs": _PUBLIC,  # the caller's own, whatever their roles
    "POST /v2.1/os-keypairs": _PUBLIC,
    "GET /v2.1/os-keypairs/{keypair_name}": _PUBLIC,
    "DELETE /v2.1/os-keypairs/{keypair_name}": _PUBLIC,
    "GET /v2.1/os-services": _ADMIN,
    "PUT /v2.1/os-services/{service_id}": _ADMIN,
    "DELETE /v2.1/os-services/{service_id}": _ADMIN,
    "GET /v2.1/os-hypervisors": _ADMIN,
    "GET /v2.1/os-hypervisors/detail": _ADMIN,
    "GET /v2.1/os-hypervisors/statistics": _ADMIN,
    "GET /v2.1/os-hypervisors/{hypervisor_id}": _ADMIN,
    "GET /v2.1/os-hypervisors/{hypervisor_id}/uptime": _ADMIN,
    "GET /v2.1/os-hypervisors/{hypervisor_id}/search": _ADMIN,
    "GET /v2.1/os-hypervisors/{hypervisor_id}/servers": _ADMIN,
    "GET /v2.1/os-aggregates": _ADMIN,
    "POST /v2.1/os-aggregates": _ADMIN,
    "GET /v2.1/os-aggregates/{aggregate_id}": _ADMIN,
    "PUT /v2.1/os-aggregates/{aggregate_id}": _ADMIN,
    "DELETE /v2.1/os-aggregates/{aggregate_id}": _ADMIN,
    "POST /v2.1/os-aggregates/{aggregate_id}/action": _ADMIN,
    "GET /v2.1/os-availability-zone": _LOOK,
    "GET /v2.1/os-availability-zone/detail": _ADMIN,
    "GET /v2.1/limits": _LOOK,
    "GET /v2.1/os-quota-sets/{project_id}": _LOOK_AT_ONES_OWN_ONLY,
    "GET /v2.1/os-quota-sets/{project_id}/defaults": _PUBLIC,
    "GET /v2.1/os-quota-sets/{project_id}/detail": _LOOK_AT_ONES_OWN_ONLY,
    "PUT /v2.1/os-quota-sets/{project_id}": _ADMIN,
    "DELETE /v2.1/os-quota-sets/{project_id}": _ADMIN,
    "GET /v2.1/os-quota-class-sets/{class_name}": _ADMIN,
    "PUT /v2.1/os-quota-class-sets/{class_name}": _ADMIN,
    "GET /v2.1/os-simple-tenant-usage": _ADMIN,
    "GET /v2.1/os-simple-tenant-usage/{project_id}": _LOOK_AT_ONES_OWN_ONLY,
    "GET /v2.1/os-instance_usage_audit_log": _ADMIN,
    "GET /v2.1/os-instance_usage_audit_log/{before}": _ADMIN,
    "GET /v2.1/os-migrations": _MANAGERS,
    "GET /v2.1/servers/{server_id}/migrations": _MANAGERS,
    "GET /v2.1/servers/{server_id}/migrations/{migration_id}": dict.fromkeys(_ADMINS, 404),
    "GET /v2.1/extensions": _PUBLIC,
    "GET /v2.1/extensions/{alias}": _PUBLIC,
    "GET /v2.1/os-networks": _LOOK,
    "GET /v2.1/os-networks/{network_id}": _LOOK,
    "GET /v2.1/os-tenant-networks": _LOOK,
    "GET /v2.1/os-tenant-networks/{network_id}": _LOOK,
    "GET /v2.1/os-floating-ip-pools": _PUBLIC,
    "GET /v2.1/os-floating-ips": _LOOK,
    "POST /v2.1/os-floating-ips": dict.fromkeys(_MAKE, 404),
    "GET /v2.1/os-floating-ips/{floating_ip_id}": dict.fromkeys(_LOOK, 404),
    "DELETE /v2.1/os-floating-ips/{floating_ip_id}": dict.fromkeys(_MAKE, 404),
    "GET /v2.1/os-security-groups": _LOOK,
    "POST /v2.1/os-security-groups": _MAKE,
    "GET /v2.1/os-security-groups/{security_group_id}": _LOOK_AT_ONES_OWN,
    "PUT /v2.1/os-security-groups/{security_group_id}": _CHANGE_ONES_OWN,
    "DELETE /v2.1/os-security-groups/{security_group_id}": _CHANGE_ONES_OWN,
    "POST /v2.1/os-security-group-rules": _CHANGE_ONES_OWN,
    "DELETE /v2.1/os-security-group-rules/{security_group_rule_id}": _CHANGE_ONES_OWN,
    "GET /v2.1/os-hosts": _ADMIN,
    "GET /v2.1/os-hosts/{host_name}": _ADMIN,
    "PUT /v2.1/os-hosts/{host_name}": dict.fromkeys(_ADMIN, 501),
    "GET /v2.1/os-hosts/{host_name}/startup": dict.fromkeys(_ADMIN, 501),
    "GET /v2.1/os-hosts/{host_name}/shutdown": dict.fromkeys(_ADMIN, 501),
    "GET /v2.1/os-hosts/{host_name}/reboot": dict.fromkeys(_ADMIN, 501),
    "GET /v2.1/images": _LOOK,
    "GET /v2.1/images/detail": _LOOK,
    "GET /v2.1/images/{image_id}": _LOOK,
    "DELETE /v2.1/images/{image_id}": _WORKERS,
    "GET /v2.1/images/{image_id}/metadata": _LOOK,
    "POST /v2.1/images/{image_id}/metadata": _WORKERS,
    "PUT /v2.1/images/{image_id}/metadata": _WORKERS,
    "GET /v2.1/images/{image_id}/metadata/{key}": _LOOK,
    "PUT /v2.1/images/{image_id}/metadata/{key}": _WORKERS,
    "DELETE /v2.1/images/{image_id}/metadata/{key}": _WORKERS,
    "GET /image": _PUBLIC,
    "GET /image/v2": _PUBLIC,
    "GET /image/v2/images": _LOOK,
    "POST /image/v2/images": _MAKE,
    "GET /image/v2/images/{image_id}": _LOOK,
    "GET /image/v2/images/{image_id}/tasks": _LOOK,
    "PATCH /image/v2/images/{image_id}": _WORKERS,  # who sees it knows of it
    "DELETE /image/v2/images/{image_id}": _WORKERS,
    "PUT /image/v2/images/{image_id}/file": _WORKERS,
    "GET /image/v2/images/{image_id}/file": _LOOK,
    "PUT /image/v2/images/{image_id}/tags/{tag}": _WORKERS,
    "DELETE /image/v2/images/{image_id}/tags/{tag}": _WORKERS,
    "GET /image/v2/images/{image_id}/members": _LOOK,
    "POST /image/v2/images/{image_id}/members": _WORKERS,
    "GET /image/v2/images/{image_id}/members/{member_id}": _LOOK,
    "PUT /image/v2/images/{image_id}/members/{member_id}": _ADMINS | {"stranger": "yes"},
    "DELETE /image/v2/images/{image_id}/members/{member_id}": _WORKERS,
    "GET /network": _PUBLIC,
    "GET /network/v2.0": _PUBLIC,
    "GET /network/v2.0/networks": _LOOK,
    "POST /network/v2.0/networks": _MAKE,
    "GET /network/v2.0/networks/{network_id}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/networks/{network_id}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/networks/{network_id}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/subnets": _LOOK,
    "POST /network/v2.0/subnets": _WORKERS | {"stranger": 400},  # for a network not theirs
    "GET /network/v2.0/subnets/{subnet_id}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/subnets/{subnet_id}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/subnets/{subnet_id}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/ports": _LOOK,
    "POST /network/v2.0/ports": _MAKE,
    "GET /network/v2.0/ports/{port_id}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/ports/{port_id}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/ports/{port_id}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/extensions": _LOOK,
    "GET /network/v2.0/networks/{network_id}/tags": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/networks/{network_id}/tags": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/networks/{network_id}/tags": _CHANGE_ONES_OWN,
    "GET /network/v2.0/networks/{network_id}/tags/{tag}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/networks/{network_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/networks/{network_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/subnets/{subnet_id}/tags": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/subnets/{subnet_id}/tags": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/subnets/{subnet_id}/tags": _CHANGE_ONES_OWN,
    "GET /network/v2.0/subnets/{subnet_id}/tags/{tag}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/subnets/{subnet_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/subnets/{subnet_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/ports/{port_id}/tags": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/ports/{port_id}/tags": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/ports/{port_id}/tags": _CHANGE_ONES_OWN,
    "GET /network/v2.0/ports/{port_id}/tags/{tag}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/ports/{port_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/ports/{port_id}/tags/{tag}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/security-groups": _LOOK,
    "POST /network/v2.0/security-groups": _MAKE,
    "GET /network/v2.0/security-groups/{security_group_id}": _LOOK_AT_ONES_OWN,
    "PUT /network/v2.0/security-groups/{security_group_id}": _CHANGE_ONES_OWN,
    "DELETE /network/v2.0/security-groups/{security_group_id}": _CHANGE_ONES_OWN,
    "GET /network/v2.0/security-group-rules": _LOOK,
    "POST /network/v2.0/security-group-rules": _CHANGE_ONES_OWN,
    "GET /network/v2.0/security-group-rules/{security_group_rule_id}": _LOOK_AT_ONES_OWN,
    "DELETE /network/v2.0/security-group-rules/{security_group_rule_id}": _CHANGE_ONES_OWN,
}
_BODIES = {
    "POST /v2.1/flavors": {"flavor": {"name": "{new}", "ram": 1, "vcpus": 1, "disk": 0}},
    "PUT /v2.1/flavors/{flavor_id}": {"flavor": {"description": "a"}},
    "POST /v2.1/flavors/{flavor_id}/action": {"addTenantAccess": {"tenant": "a"}},
    "POST /v2.1/flavors/{flavor_id}/os-extra_specs": {"extra_specs": {"b": "c"}},
    "PUT /v2.1/flavors/{flavor_id}/os-extra_specs/{key}": {"a": "c"},
    "POST /v2.1/servers": {
        "server": {
            "name": "a",
            "flavorRef": "1",
            "imageRef": IMAGE,
            "networks": [{"uuid": PRIVATE.id}],
        }
    },
    "PUT /v2.1/servers/{server_id}": {"server": {"name": "b"}},
    "POST /v2.1/servers/{server_id}/action": {"os-stop": None},
    "POST /v2.1/servers/{server_id}/remote-consoles": {
        "remote_console": {"protocol": "vnc", "type": "novnc"}
    },
    "POST /v2.1/servers/{server_id}/metadata": {"metadata": {"a": "c"}},
    "PUT /v2.1/servers/{server_id}/metadata": {"metadata": {"a": "c"}},
    "PUT /v2.1/servers/{server_id}/metadata/{key}": {"meta": {"a": "c"}},
    "PUT /v2.1/servers/{server_id}/tags": {"tags": ["b"]},
    "POST /v2.1/servers/{server_id}/os-interface": {"interfaceAttachment": {}},
    "POST /v2.1/os-server-external-events": {
        "events": [{"name": "network-changed", "server_uuid": "{server_id}"}]
    },
    "POST /v2.1/os-server-groups": {"server_group": {"name": "a", "policy": "affinity"}},
    "POST /v2.1/os-floating-ips": {"pool": "public"},
    "PUT /v2.1/os-quota-sets/{project_id}": {"quota_set": {"instances": -1}},
    "PUT /v2.1/os-quota-class-sets/{class_name}": {"quota_class_set": {"instances": -1}},
    "POST /v2.1/os-keypairs": {"keypair": {"name": "{new}", "public_key": PUBLIC_KEY}},
    "PUT /v2.1/os-services/{service_id} 1": {"host": "h1", "binary": "roost-compute"},
    "PUT /v2.1/os-services/{service_id}": {"status": "enabled"},
    "POST /v2.1/os-aggregates": {"aggregate": {"name": "{new}"}},
    "PUT /v2.1/os-aggregates/{aggregate_id}": {"aggregate": {"name": "{new}"}},
    "POST /v2.1/os-aggregates/{aggregate_id}/action": {"set_metadata": {"metadata": {"a": "b"}}},
    "PUT /v2.1/os-hosts/{host_name}": {"status": "enable"},
    "POST /v2.1/images/{image_id}/metadata": {"metadata": {"a": "c"}},
    "PUT /v2.1/images/{image_id}/metadata": {"metadata": {"a": "c"}},
    "PUT /v2.1/images/{image_id}/metadata/{key}": {"meta": {"a": "c"}},
    "POST /image/v2/images": {"name": "{new}"},
    "PATCH /image/v2/images/{image_id}": [],
    "POST /image/v2/images/{image_id}/members": {"member": "{new}"},
    "PUT /image/v2/images/{image_id}/members/{member_id}": {"status": "accepted"},
    "PUT /network/v2.0/networks/{network_id}/tags": {"tags": ["{new}"]},
    "PUT /network/v2.0/subnets/{subnet_id}/tags": {"tags": ["{new}"]},
    "PUT /network/v2.0/ports/{port_id}/tags": {"tags": ["{new}"]},
    "POST /v2.1/os-security-groups": {"security_group": {"name": "{new}", "description": ""}},
    "PUT /v2.1/os-security-groups/{security_group_id}": {
        "security_group": {"name": "{new}", "description": ""}
    },
    "POST /v2.1/os-security-group-rules": {
        "security_group_rule": {
            "parent_group_id": "{security_group_id}",
            "ip_protocol": "tcp",
            "from_port": 22,
            "to_port": 22,
        }
    },
    "POST /network/v2.0/security-groups": {"security_group": {"name": "{new}"}},
    "PUT /network/v2.0/security-groups/{security_group_id}": {"security_group": {"name": "{new}"}},
    "POST /network/v2.0/security-group-rules": {
        "security_group_rule": {
            "security_group_id": "{security_group_id}",
            "direction": "ingress",
            "protocol": "tcp",
        }
    },
    "POST /network/v2.0/networks": {"network": {"name": "{new}"}},
    "POST /network/v2.0/subnets": {
        "subnet": {"network_id": "{made_network_id}", "cidr": "10.7.0.0/24"}
    },
    "POST /network/v2.0/ports": {"port": {"network_id": PRIVATE.id}},
    "PUT /network/v2.0/networks/{network_id}": {"network": {"name": "{new}"}},
    "PUT /network/v2.0/subnets/{subnet_id}": {"subnet": {"name": "{new}"}},
    "PUT /network/v2.0/ports/{port_id}": {"port": {"name": "{new}"}},
}
# What paths had instead of uuids, as long as they were served.
_HYPERVISOR = {"hypervisor_id": "h1"}
_OLD_NAMES = {
    "GET /v2.1/os-hypervisors/{hypervisor_id}/search": _HYPERVISOR,
    "GET /v2.1/os-hypervisors/{hypervisor_id}/servers": _HYPERVISOR,
}
# Rules -> the least role that passes them; all but an administrator only for their own project.
_ROLES = ("nobody", "reader", "member", "manager", "administrator")
_RULES = {
    "roost:versions": "nobody",
    "roost:openapi": "nobody",
    "os_compute_api:flavors:index": "reader",
    "os_compute_api:flavors:show": "reader",
    "os_compute_api:os-flavor-access": "administrator",
    "roost:flavors:action": "administrator",
    "os_compute_api:os-flavor-access:add_tenant_access": "administrator",
    "os_compute_api:os-flavor-access:remove_tenant_access": "administrator",
    "os_compute_api:os-flavor-manage:create": "administrator",
    "os_compute_api:os-flavor-manage:update": "administrator",
    "os_compute_api:os-flavor-manage:delete": "administrator",
    "os_compute_api:os-flavor-extra-specs:index": "reader",
    "os_compute_api:os-flavor-extra-specs:show": "reader",
    "os_compute_api:os-flavor-extra-specs:create": "administrator",
    "os_compute_api:os-flavor-extra-specs:update": "administrator",
    "os_compute_api:os-flavor-extra-specs:delete": "administrator",
    "os_compute_api:servers:index": "reader",
    "os_compute_api:servers:detail": "reader",
    "os_compute_api:servers:index:get_all_tenants": "administrator",
    "os_compute_api:servers:allow_all_filters": "administrator",
    "os_compute_api:servers:show": "reader",
    "os_compute_api:servers:show:host_status": "administrator",
    "os_compute_api:os-extended-server-attributes": "administrator",
    "roost:servers:show:placement_counts": "administrator",
    "os_compute_api:servers:create": "member",
    "os_compute_api:servers:create:forced_host": "administrator",
    "compute:servers:create:requested_destination": "administrator",
    "os_compute_api:servers:create:trusted_certs": "member",
    "os_compute_api:servers:rebuild:trusted_certs": "member",
    "os_compute_api:servers:update": "member",
    "os_compute_api:servers:delete": "member",
    "os_compute_api:servers:start": "member",
    "os_compute_api:servers:stop": "member",
    "os_compute_api:servers:reboot": "member",
    "roost:servers:action": "member",
    "os_compute_api:server-metadata:index": "reader",
    "os_compute_api:server-metadata:show": "reader",
    "os_compute_api:server-metadata:create": "member",
    "os_compute_api:server-metadata:update": "member",
    "os_compute_api:server-metadata:update_all": "member",
    "os_compute_api:server-metadata:delete": "member",
    "os_compute_api:os-server-tags:index": "reader",
    "os_compute_api:os-server-tags:show": "reader",
    "os_compute_api:os-server-tags:update": "member",
    "os_compute_api:os-server-tags:update_all": "member",
    "os_compute_api:os-server-tags:delete": "member",
    "os_compute_api:os-server-tags:delete_all": "member",
    "os_compute_api:os-attach-interfaces:list": "reader",
    "os_compute_api:os-attach-interfaces:show": "reader",
    "os_compute_api:os-attach-interfaces:create": "member",
    "os_compute_api:os-attach-interfaces:delete": "member",
    "os_compute_api:os-server-external-events:create": "administrator",
    "os_compute_api:os-server-diagnostics": "administrator",
    "os_compute_api:ips:index": "reader",
    "os_compute_api:ips:show": "reader",
    "os_compute_api:os-server-password:show": "reader",
    "os_compute_api:os-server-password:clear": "member",
    "os_compute_api:os-security-groups:list": "reader",
    "os_compute_api:os-security-groups:get": "reader",
    "os_compute_api:os-security-groups:show": "reader",
    "os_compute_api:os-security-groups:create": "member",
    "os_compute_api:os-security-groups:update": "member",
    "os_compute_api:os-security-groups:delete": "member",
    "os_compute_api:os-security-groups:rule:create": "member",
    "os_compute_api:os-security-groups:rule:delete": "member",
    "roost:security_groups:list": "reader",
    "roost:security_groups:show": "reader",
    "roost:security_groups:create": "member",
    "roost:security_groups:update": "member",
    "roost:security_groups:delete": "member",
    "roost:security_group_rules:list": "reader",
    "roost:security_group_rules:show": "reader",
    "roost:security_group_rules:create": "member",
    "roost:security_group_rules:delete": "member",
    "os_compute_api:os-security-groups:add": "member",
    "os_compute_api:os-security-groups:remove": "member",
    "os_compute_api:os-multinic:add": "member",
    "os_compute_api:os-multinic:remove": "member",
    "os_compute_api:os-floating-ips:add": "member",
    "os_compute_api:os-floating-ips:remove": "member",
    "compute:server:topology:index": "reader",
    "compute:server:topology:host:index": "administrator",
    "os_compute_api:os-pause-server:pause": "member",
    "os_compute_api:os-pause-server:unpause": "member",
    "os_compute_api:os-suspend-server:suspend": "member",
    "os_compute_api:os-suspend-server:resume": "member",
    "os_compute_api:servers:rebuild": "member",
    "os_compute_api:servers:create_image": "member",
    "os_compute_api:os-create-backup": "member",
    "os_compute_api:os-rescue": "member",
    "os_compute_api:os-unrescue": "member",
    "os_compute_api:os-admin-password": "member",
    "os_compute_api:os-lock-server:lock": "member",
    "os_compute_api:os-lock-server:unlock": "member",
    "os_compute_api:os-lock-server:unlock:unlock_override": "administrator",
    "os_compute_api:os-admin-actions:reset_state": "administrator",
    "os_compute_api:os-admin-actions:inject_network_info": "administrator",
    "os_compute_api:os-console-output": "member",
    "os_compute_api:os-remote-consoles": "member",
    "os_compute_api:os-console-auth-tokens": "administrator",
    "os_compute_api:os-deferred-delete:force": "member",
    "os_compute_api:os-deferred-delete:restore": "member",
    "os_compute_api:os-instance-actions:list": "reader",
    "os_compute_api:os-instance-actions:show": "reader",
    "os_compute_api:os-instance-actions:events": "administrator",
    "os_compute_api:os-instance-actions:events:details": "administrator",
    "os_compute_api:os-server-groups:index": "reader",
    "os_compute_api:os-server-groups:index:all_projects": "administrator",
    "os_compute_api:os-server-groups:create": "member",
    "os_compute_api:os-server-groups:show": "reader",
    "os_compute_api:os-server-groups:delete": "member",
    "os_compute_api:os-keypairs:index": "nobody",
    "os_compute_api:os-keypairs:create": "nobody",
    "os_compute_api:os-keypairs:show": "nobody",
    "os_compute_api:os-keypairs:delete": "nobody",
    "os_compute_api:os-services:list": "administrator",
    "os_compute_api:os-services:update": "administrator",
    "os_compute_api:os-services:delete": "administrator",
    "os_compute_api:os-hosts:list": "administrator",
    "os_compute_api:os-hosts:show": "administrator",
    "os_compute_api:os-hosts:update": "administrator",
    "os_compute_api:os-hosts:start": "administrator",
    "os_compute_api:os-hosts:shutdown": "administrator",
    "os_compute_api:os-hosts:reboot": "administrator",
    "os_compute_api:os-hypervisors:list": "administrator",
    "os_compute_api:os-hypervisors:list-detail": "administrator",
    "os_compute_api:os-hypervisors:statistics": "administrator",
    "os_compute_api:os-hypervisors:show": "administrator",
    "os_compute_api:os-hypervisors:uptime": "administrator",
    "os_compute_api:os-hypervisors:search": "administrator",
    "os_compute_api:os-hypervisors:servers": "administrator",
    "os_compute_api:os-aggregates:index": "administrator",
    "os_compute_api:os-aggregates:show": "administrator",
    "os_compute_api:os-aggregates:create": "administrator",
    "os_compute_api:os-aggregates:update": "administrator",
    "os_compute_api:os-aggregates:delete": "administrator",
    "os_compute_api:os-aggregates:add_host": "administrator",
    "os_compute_api:os-aggregates:remove_host": "administrator",
    "os_compute_api:os-aggregates:set_metadata": "administrator",
    "roost:aggregates:action": "administrator",
    "os_compute_api:os-availability-zone:list": "reader",
    "os_compute_api:os-availability-zone:detail": "administrator",
    "os_compute_api:limits": "reader",
    "os_compute_api:limits:other_project": "administrator",
    "os_compute_api:os-quota-sets:show": "reader",
    "os_compute_api:os-quota-sets:defaults": "nobody",
    "os_compute_api:os-quota-sets:detail": "reader",
    "os_compute_api:os-quota-sets:update": "administrator",
    "os_compute_api:os-quota-sets:delete": "administrator",
    "os_compute_api:os-quota-class-sets:show": "administrator",
    "os_compute_api:os-quota-class-sets:update": "administrator",
    "os_compute_api:os-simple-tenant-usage:list": "administrator",
    "os_compute_api:os-simple-tenant-usage:show": "reader",
    "os_compute_api:os-instance-usage-audit-log:list": "administrator",
    "os_compute_api:os-instance-usage-audit-log:show": "administrator",
    "os_compute_api:os-migrations:index": "manager",
    "os_compute_api:servers:migrations:index": "manager",
    "os_compute_api:servers:migrations:show": "administrator",
    "os_compute_api:extensions": "nobody",
    "os_compute_api:os-networks:list": "reader",
    "os_compute_api:os-networks:show": "reader",
    "os_compute_api:os-tenant-networks:list": "reader",
    "os_compute_api:os-tenant-networks:show": "reader",
    "os_compute_api:os-floating-ip-pools": "nobody",
    "os_compute_api:os-floating-ips:list": "reader",
    "os_compute_api:os-floating-ips:show": "reader",
    "os_compute_api:os-floating-ips:create": "member",
    "os_compute_api:os-floating-ips:delete": "member",
    "roost:images:list": "reader",
    "roost:images:show": "reader",
    "roost:images:download": "reader",
    "roost:images:create": "member",
    "roost:images:upload": "member",
    "roost:images:update": "member",
    "roost:images:delete": "member",
    "roost:images:members:list": "reader",
    "roost:images:members:show": "reader",
    "roost:images:members:create": "member",
    "roost:images:members:update": "member",
    "roost:images:members:delete": "member",
    "roost:images:publicize": "administrator",
    "roost:images:create:other_owner": "administrator",
    "roost:networks:list": "reader",
    "roost:networks:show": "reader",
    "roost:networks:create": "member",
    "roost:networks:create:shared": "administrator",
    "roost:networks:update": "member",
    "roost:networks:delete": "member",
    "roost:networks:extensions": "reader",
    "roost:subnets:list": "reader",
    "roost:subnets:show": "reader",
    "roost:subnets:create": "member",
    "roost:subnets:update": "member",
    "roost:subnets:delete": "member",
    "roost:ports:list": "reader",
    "roost:ports:show": "reader",
    "roost:ports:create": "member",
    "roost:ports:update": "member",
    "roost:ports:delete": "member",
}


class _Roles:
    """Believes whoever says which roles they have."""

    def process_request(self, req, resp):
        who = req.get_header("X-Who")
        roles, project = _CALLERS[who]
        req.context.caller = a_context(
            roles=roles,
            project_id=project,
            request_id=req.context.request_id,
            **{"is_admin": "admin" in roles} | _SCOPES.get(who, {}),
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    unlimited = Options(quota=dict.fromkeys(Options().quota, -1))
    folder = tmp_path_factory.mktemp("world")
    with api_world.made_in(folder, unlimited, authentication=_Roles()) as world:
        yield world


@pytest.fixture(scope="module")
def service_id(world):
    with world.databases[CELL1].read() as session:
        return services.list_services(session, host="h1")[0].uuid


@pytest.fixture(scope="module")
def policy():
    return Policy(conf.of({}))


def _operation(route):
    return f"{route.method} {route.path}"


def _body(route, words):
    name = _operation(route)
    body = _BODIES.get(f"{name} {route.since}", _BODIES.get(name))
    return _filled(body, words)


def _filled(value, words):
    """Put words where a body has their names in braces."""
    if isinstance(value, dict):
        return {key: _filled(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    return value.format(**words) if isinstance(value, str) else value


def _private_flavor(world, name):
    values = {"flavorid": f"{name}-private", "name": f"{name}-private", "is_public": False}
    with world.api_db.begin() as session:
        return flavors.create(session, a_flavor(**values)).flavorid


def _say_that_it_is_up(world, host):
    """Let a daemon report, as it would from time to time; these tests take longer."""
    with world.databases[CELL1].begin() as session:
        services.report(session, host=host, binary="roost-compute", availability_zone="nova")


def _spare_service(world, host):
    with world.databases[CELL1].begin() as session:
        return services.report(session, host=host, binary="roost-cell-conductor").uuid


def test_every_route_is_in_the_table_and_nothing_else():
    assert set(_ROUTES) == {_operation(route) for route in ROUTES}


def test_every_rule_is_in_the_table_and_nothing_else():
    roles = {rule.name for rule in policies.base.RULES}
    assert set(_RULES) | roles == {rule.name for rule in policies.list_rules()}


@pytest.mark.parametrize("who", _CALLERS)
@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path} {r.since}")
def test_everybody_gets_what_the_table_says(world, service_id, route, who):
    expected = _ROUTES[_operation(route)].get(who, 403)
    things = world.things() | ({"service_id": service_id} if route.since > 1 else {})
    things |= _OLD_NAMES.get(_operation(route), {})
    if "os-flavor-access" in route.path or route.path.endswith("{flavor_id}/action"):
        things["flavor_id"] = _private_flavor(world, things["flavor_id"])
    if route.path.endswith("/uptime"):
        _say_that_it_is_up(world, "h1")
    if _operation(route) == "DELETE /v2.1/os-services/{service_id}":
        things["service_id"] = _spare_service(world, things["flavor_id"])
    if _operation(route) == "PUT /image/v2/images/{image_id}/file":
        things["image_id"] = world.image(status="queued").id
    if "/members" in route.path:
        things["image_id"] = world.shared_image(_OTHER).id
    if route.path.startswith("/network/"):
        things |= {name: things[f"made_{name}"] for name in ("network_id", "port_id")}
    body = _body(route, things | {"new": f"new {things['flavor_id']}"})
    answer = world.client.ask(
        route.method,
        route.path.format(**things),
        version=f"2.{route.until}",
        headers={"X-Who": who, "Content-Type": route.takes[0]},
        body=b"" if body is None else json.dumps(body),
    )
    got = "yes" if answer.status_code < 300 else answer.status_code
    assert got == expected, answer.text


@pytest.mark.parametrize("rule", _RULES)
def test_a_rule_is_passed_by_its_role_and_those_above_in_the_own_project(policy, rule):
    least = _ROLES.index(_RULES[rule])
    for number, role in enumerate(_ROLES):
        roles, _ = _CALLERS[role]
        caller = a_context(roles=roles, project_id=_OWN)
        assert policy.allows(caller, rule) == (number >= least), role
        elsewhere = role == "administrator" or _RULES[rule] == "nobody"
        assert policy.allows(caller, rule, project_id=_OTHER) == elsewhere, role
