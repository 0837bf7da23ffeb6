"""Who may ask for what: the tables of ``test_policies.py``, written by hand."""

OWN, OTHER = "project", "another-project"
# Callers: roles and project. The things asked for belong to ``project``.
CALLERS = {
    "nobody": ([], OWN),
    "reader": (["reader"], OWN),
    "member": (["member", "reader"], OWN),
    "manager": (["manager", "member", "reader"], OWN),
    "stranger": (["member", "reader"], OTHER),
    "strange reader": (["reader"], OTHER),
    "administrator": (["admin", "member", "reader"], OWN),
    "administrator elsewhere": (["admin"], OTHER),
    "service": (["service"], "services"),
    "administrator of the system": (["admin", "member", "reader"], None),
    "reader of a domain": (["reader"], None),
}
SCOPES = {
    "administrator of the system": {"system_scope": "all"},
    "reader of a domain": {"domain_id": "default"},
}
_ADMINS = dict.fromkeys(("administrator", "administrator elsewhere"), "yes")
_WORKERS = dict.fromkeys(("member", "manager"), "yes") | _ADMINS
_OTHERS = dict.fromkeys(("stranger", "strange reader"), "yes")
# What each caller gets: "yes", or a status. Who is not named is forbidden it: 403.
_PUBLIC = {who: "yes" for who in CALLERS if who not in SCOPES}
_MANAGERS = {"manager": "yes"} | _ADMINS
_ADMIN = _ADMINS
_SERVICES = _ADMINS | {"service": "yes"}
_LOOK = {"reader": "yes"} | _WORKERS | _OTHERS  # what all projects share, or the caller's own list
_SEE_OWN = {"reader": "yes"} | _WORKERS | {"stranger": 404, "strange reader": 404}
_SEE_OWN_ONLY = {"reader": "yes"} | _WORKERS  # of other projects it is no secret either
_MAKE = _WORKERS | {"stranger": "yes"}  # in the caller's own project
_THEIRS = {"stranger": 404}
_CHANGE_OWN = _WORKERS | _THEIRS
_BY_PATH = {
    "/": {"GET": _PUBLIC},
    "/v2": {"GET": _PUBLIC},
    "/v2.1": {"GET": _PUBLIC},
    "/openapi.json": {"GET": _PUBLIC},
    "/v2.1/flavors": {"GET": _LOOK, "POST": _ADMIN},
    "/v2.1/flavors/detail": {"GET": _LOOK},
    "/v2.1/flavors/{flavor_id}": {"GET": _LOOK, "PUT DELETE": _ADMIN},
    "/v2.1/flavors/{flavor_id}/action": {"POST": _ADMIN},
    "/v2.1/flavors/{flavor_id}/os-flavor-access": {"GET": _ADMIN},
    "/v2.1/flavors/{flavor_id}/os-extra_specs": {"GET": _LOOK, "POST": _ADMIN},
    "/v2.1/flavors/{flavor_id}/os-extra_specs/{key}": {"GET": _LOOK, "PUT DELETE": _ADMIN},
    "/v2.1/servers": {"GET": _LOOK, "POST": _MAKE},
    "/v2.1/servers/detail": {"GET": _LOOK},
    "/v2.1/servers/{server_id}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/action": {"POST": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/metadata": {"GET": _SEE_OWN, "POST PUT": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/metadata/{key}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/tags": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/tags/{tag}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/os-interface": {"GET": _SEE_OWN, "POST": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/os-interface/{port_id}": {"GET": _SEE_OWN, "DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/os-volume_attachments": {
        "GET": _SEE_OWN,
        "POST": dict.fromkeys(_WORKERS, 501) | _THEIRS,
    },
    "/v2.1/servers/{server_id}/os-volume_attachments/{volume_id}": {
        "GET": dict.fromkeys(_SEE_OWN, 404),
        "PUT DELETE": dict.fromkeys(_WORKERS, 501) | _THEIRS,
    },
    "/v2.1/os-server-external-events": {"POST": _SERVICES},
    "/v2.1/servers/{server_id}/diagnostics": {"GET": _ADMIN},
    "/v2.1/servers/{server_id}/remote-consoles": {"POST": _CHANGE_OWN},
    "/v2.1/os-console-auth-tokens/{console_token}": {"GET": _ADMIN},
    "/v2.1/servers/{server_id}/ips": {"GET": _SEE_OWN},
    "/v2.1/servers/{server_id}/ips/{network_label}": {"GET": _SEE_OWN},
    "/v2.1/servers/{server_id}/os-server-password": {"GET": _SEE_OWN, "DELETE": _CHANGE_OWN},
    "/v2.1/servers/{server_id}/os-security-groups": {"GET": _SEE_OWN},
    "/v2.1/servers/{server_id}/topology": {"GET": _SEE_OWN},
    "/v2.1/servers/{server_id}/os-instance-actions": {"GET": _SEE_OWN},
    "/v2.1/servers/{server_id}/os-instance-actions/{request_id}": {"GET": _SEE_OWN},
    "/v2.1/os-server-groups": {"GET": _LOOK, "POST": _MAKE},
    "/v2.1/os-server-groups/{server_group_id}": {"GET": _SEE_OWN, "DELETE": _CHANGE_OWN},
    # GET: the caller's own, whatever their roles
    "/v2.1/os-keypairs": {"GET POST": _PUBLIC},
    "/v2.1/os-keypairs/{keypair_name}": {"GET DELETE": _PUBLIC},
    "/v2.1/os-services": {"GET": _ADMIN},
    "/v2.1/os-services/{service_id}": {"PUT DELETE": _ADMIN},
    "/v2.1/os-hypervisors": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/detail": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/statistics": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/{hypervisor_id}": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/{hypervisor_id}/uptime": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/{hypervisor_id}/search": {"GET": _ADMIN},
    "/v2.1/os-hypervisors/{hypervisor_id}/servers": {"GET": _ADMIN},
    "/v2.1/os-aggregates": {"GET POST": _ADMIN},
    "/v2.1/os-aggregates/{aggregate_id}": {"GET PUT DELETE": _ADMIN},
    "/v2.1/os-aggregates/{aggregate_id}/action": {"POST": _ADMIN},
    "/v2.1/os-availability-zone": {"GET": _LOOK},
    "/v2.1/os-availability-zone/detail": {"GET": _ADMIN},
    "/v2.1/limits": {"GET": _LOOK},
    "/v2.1/os-quota-sets/{project_id}": {"GET": _SEE_OWN_ONLY, "PUT DELETE": _ADMIN},
    "/v2.1/os-quota-sets/{project_id}/defaults": {"GET": _PUBLIC},
    "/v2.1/os-quota-sets/{project_id}/detail": {"GET": _SEE_OWN_ONLY},
    "/v2.1/os-quota-class-sets/{class_name}": {"GET PUT": _ADMIN},
    "/v2.1/os-simple-tenant-usage": {"GET": _ADMIN},
    "/v2.1/os-simple-tenant-usage/{project_id}": {"GET": _SEE_OWN_ONLY},
    "/v2.1/os-instance_usage_audit_log": {"GET": _ADMIN},
    "/v2.1/os-instance_usage_audit_log/{before}": {"GET": _ADMIN},
    "/v2.1/os-migrations": {"GET": _MANAGERS},
    "/v2.1/servers/{server_id}/migrations": {"GET": _MANAGERS},
    "/v2.1/servers/{server_id}/migrations/{migration_id}": {
        "GET": dict.fromkeys(_ADMINS, 404),
        "DELETE": dict.fromkeys(_MANAGERS, 404),
    },
    "/v2.1/servers/{server_id}/migrations/{migration_id}/action": {
        "POST": dict.fromkeys(_MANAGERS, 404)
    },
    "/v2.1/extensions": {"GET": _PUBLIC},
    "/v2.1/extensions/{alias}": {"GET": _PUBLIC},
    "/v2.1/os-networks": {"GET": _LOOK},
    "/v2.1/os-networks/{network_id}": {"GET": _LOOK},
    "/v2.1/os-tenant-networks": {"GET": _LOOK},
    "/v2.1/os-tenant-networks/{network_id}": {"GET": _LOOK},
    "/v2.1/os-floating-ip-pools": {"GET": _PUBLIC},
    "/v2.1/os-floating-ips": {"GET": _LOOK, "POST": dict.fromkeys(_MAKE, 404)},
    "/v2.1/os-floating-ips/{floating_ip_id}": {
        "GET": dict.fromkeys(_LOOK, 404),
        "DELETE": dict.fromkeys(_MAKE, 404),
    },
    "/v2.1/os-security-groups": {"GET": _LOOK, "POST": _MAKE},
    "/v2.1/os-security-groups/{security_group_id}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/v2.1/os-security-group-rules": {"POST": _CHANGE_OWN},
    "/v2.1/os-security-group-rules/{security_group_rule_id}": {"DELETE": _CHANGE_OWN},
    "/v2.1/os-hosts": {"GET": _ADMIN},
    "/v2.1/os-hosts/{host_name}": {"GET": _ADMIN, "PUT": dict.fromkeys(_ADMIN, 501)},
    "/v2.1/os-hosts/{host_name}/startup": {"GET": dict.fromkeys(_ADMIN, 501)},
    "/v2.1/os-hosts/{host_name}/shutdown": {"GET": dict.fromkeys(_ADMIN, 501)},
    "/v2.1/os-hosts/{host_name}/reboot": {"GET": dict.fromkeys(_ADMIN, 501)},
    "/v2.1/images": {"GET": _LOOK},
    "/v2.1/images/detail": {"GET": _LOOK},
    "/v2.1/images/{image_id}": {"GET": _LOOK, "DELETE": _WORKERS},
    "/v2.1/images/{image_id}/metadata": {"GET": _LOOK, "POST PUT": _WORKERS},
    "/v2.1/images/{image_id}/metadata/{key}": {"GET": _LOOK, "PUT DELETE": _WORKERS},
    "/image": {"GET": _PUBLIC},
    "/image/v2": {"GET": _PUBLIC},
    "/image/v2/images": {"GET": _LOOK, "POST": _MAKE},
    # PATCH: who sees it knows of it
    "/image/v2/images/{image_id}": {"GET": _LOOK, "PATCH DELETE": _WORKERS},
    "/image/v2/images/{image_id}/tasks": {"GET": _LOOK},
    "/image/v2/images/{image_id}/file": {"PUT": _WORKERS, "GET": _LOOK},
    "/image/v2/images/{image_id}/tags/{tag}": {"PUT DELETE": _WORKERS},
    "/image/v2/images/{image_id}/members": {"GET": _LOOK, "POST": _WORKERS},
    "/image/v2/images/{image_id}/members/{member_id}": {
        "GET": _LOOK,
        "PUT": _ADMINS | {"stranger": "yes"},
        "DELETE": _WORKERS,
    },
    "/placement": {"GET": _PUBLIC},
    "/placement/resource_providers": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}/inventories": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}/inventories/{resource_class}": {
        "GET": _SERVICES
    },
    "/placement/resource_providers/{provider_uuid}/usages": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}/aggregates": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}/traits": {"GET": _SERVICES},
    "/placement/resource_providers/{provider_uuid}/allocations": {"GET": _SERVICES},
    "/placement/allocations/{consumer_uuid}": {"GET": _SERVICES},
    # without the parameters that these need
    "/placement/usages": {"GET": dict.fromkeys(_LOOK | _SERVICES, 400)},
    "/placement/allocation_candidates": {"GET": dict.fromkeys(_SERVICES, 400)},
    "/placement/traits": {"GET": _SERVICES},
    "/placement/traits/{trait}": {"GET": _SERVICES},
    "/placement/resource_classes": {"GET": _SERVICES},
    "/placement/resource_classes/{resource_class}": {"GET": _SERVICES},
    "/network": {"GET": _PUBLIC},
    "/network/v2.0": {"GET": _PUBLIC},
    "/network/v2.0/networks": {"GET": _LOOK, "POST": _MAKE},
    "/network/v2.0/networks/{network_id}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    # POST: for a network not theirs
    "/network/v2.0/subnets": {"GET": _LOOK, "POST": _WORKERS | {"stranger": 400}},
    "/network/v2.0/subnets/{subnet_id}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/ports": {"GET": _LOOK, "POST": _MAKE},
    "/network/v2.0/ports/{port_id}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/extensions": {"GET": _LOOK},
    "/network/v2.0/networks/{network_id}/tags": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/networks/{network_id}/tags/{tag}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/subnets/{subnet_id}/tags": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/subnets/{subnet_id}/tags/{tag}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/ports/{port_id}/tags": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/ports/{port_id}/tags/{tag}": {"GET": _SEE_OWN, "PUT DELETE": _CHANGE_OWN},
    "/network/v2.0/security-groups": {"GET": _LOOK, "POST": _MAKE},
    "/network/v2.0/security-groups/{security_group_id}": {
        "GET": _SEE_OWN,
        "PUT DELETE": _CHANGE_OWN,
    },
    "/network/v2.0/security-group-rules": {"GET": _LOOK, "POST": _CHANGE_OWN},
    "/network/v2.0/security-group-rules/{security_group_rule_id}": {
        "GET": _SEE_OWN,
        "DELETE": _CHANGE_OWN,
    },
}
WHO_MAY = {
    f"{method} {path}": who
    for path, table in _BY_PATH.items()
    for methods, who in table.items()
    for method in methods.split()
}
ROLES = ("nobody", "reader", "member", "manager", "administrator")
_BY_NOUN = {  # names of rules, by the role that is enough
    "roost": {"nobody": "versions openapi"},
    "os_compute_api:flavors": {"reader": "index show"},
    "os_compute_api": {
        "administrator": "os-flavor-access os-extended-server-attributes "
        "os-server-diagnostics os-console-auth-tokens os-evacuate",
        "member": "os-create-backup os-rescue os-unrescue "
        "os-admin-password os-console-output os-remote-consoles",
        "reader": "limits",
        "nobody": "extensions os-floating-ip-pools",
    },
    "roost:flavors": {"administrator": "action"},
    "os_compute_api:os-flavor-access": {"administrator": "add_tenant_access remove_tenant_access"},
    "os_compute_api:os-flavor-manage": {"administrator": "create update delete"},
    "os_compute_api:os-flavor-extra-specs": {
        "reader": "index show",
        "administrator": "create update delete",
    },
    "os_compute_api:servers": {
        "reader": "index detail show",
        "administrator": "allow_all_filters",
        "member": "create update delete start stop reboot rebuild create_image trigger_crash_dump "
        "resize confirm_resize revert_resize",
    },
    "os_compute_api:servers:index": {"administrator": "get_all_tenants"},
    "os_compute_api:servers:show": {"administrator": "host_status"},
    "roost:servers:show": {"administrator": "placement_counts"},
    "os_compute_api:servers:create": {
        "administrator": "forced_host zero_disk_flavor",
        "member": "trusted_certs",
    },
    "compute:servers:create": {"administrator": "requested_destination"},
    "roost:servers:create": {"administrator": "host_hints"},
    "os_compute_api:servers:rebuild": {"member": "trusted_certs"},
    "roost:servers": {"member": "action"},
    "os_compute_api:server-metadata": {
        "reader": "index show",
        "member": "create update update_all delete",
    },
    "os_compute_api:os-server-tags": {
        "reader": "index show",
        "member": "update update_all delete delete_all",
    },
    "os_compute_api:os-attach-interfaces": {"reader": "list show", "member": "create delete"},
    "os_compute_api:os-server-external-events": {"administrator": "create"},
    "os_compute_api:os-volumes-attachments": {
        "reader": "index show",
        "member": "create update delete",
    },
    "os_compute_api:ips": {"reader": "index show"},
    "os_compute_api:os-server-password": {"reader": "show", "member": "clear"},
    "os_compute_api:os-security-groups": {
        "reader": "list get show",
        "member": "create update delete add remove",
    },
    "os_compute_api:os-security-groups:rule": {"member": "create delete"},
    "roost:security_groups": {"reader": "list show", "member": "create update delete"},
    "roost:security_group_rules": {"reader": "list show", "member": "create delete"},
    "os_compute_api:os-multinic": {"member": "add remove"},
    "os_compute_api:os-floating-ips": {"member": "add remove create delete", "reader": "list show"},
    "compute:server:topology": {"reader": "index"},
    "compute:server:topology:host": {"administrator": "index"},
    "os_compute_api:os-pause-server": {"member": "pause unpause"},
    "os_compute_api:os-suspend-server": {"member": "suspend resume"},
    "os_compute_api:os-lock-server": {"member": "lock unlock"},
    "os_compute_api:os-lock-server:unlock": {"administrator": "unlock_override"},
    "os_compute_api:os-admin-actions": {"administrator": "reset_state inject_network_info"},
    "os_compute_api:os-deferred-delete": {"member": "force restore"},
    "os_compute_api:os-instance-actions": {"reader": "list show", "administrator": "events"},
    "os_compute_api:os-instance-actions:events": {"administrator": "details"},
    "os_compute_api:os-server-groups": {"reader": "index show", "member": "create delete"},
    "os_compute_api:os-server-groups:index": {"administrator": "all_projects"},
    "os_compute_api:os-keypairs": {"nobody": "index create show delete"},
    "os_compute_api:os-services": {"administrator": "list update delete"},
    "os_compute_api:os-hosts": {"administrator": "list show update start shutdown reboot"},
    "os_compute_api:os-hypervisors": {
        "administrator": "list list-detail statistics show uptime search servers"
    },
    "os_compute_api:os-aggregates": {
        "administrator": "index show create update delete add_host remove_host set_metadata"
    },
    "roost:aggregates": {"administrator": "action"},
    "os_compute_api:os-availability-zone": {"reader": "list", "administrator": "detail"},
    "os_compute_api:limits": {"administrator": "other_project"},
    "placement": {"reader": "usages"},
    "placement:resource_providers": {"administrator": "list show usages"},
    "placement:resource_providers:inventories": {"administrator": "list show"},
    "placement:resource_providers:aggregates": {"administrator": "list"},
    "placement:resource_providers:traits": {"administrator": "list"},
    "placement:resource_providers:allocations": {"administrator": "list"},
    "placement:allocations": {"administrator": "list"},
    "placement:allocation_candidates": {"administrator": "list"},
    "placement:traits": {"administrator": "list show"},
    "placement:resource_classes": {"administrator": "list show"},
    "os_compute_api:os-quota-sets": {
        "reader": "show detail",
        "nobody": "defaults",
        "administrator": "update delete",
    },
    "os_compute_api:os-quota-class-sets": {"administrator": "show update"},
    "os_compute_api:os-simple-tenant-usage": {"administrator": "list", "reader": "show"},
    "os_compute_api:os-instance-usage-audit-log": {"administrator": "list show"},
    "os_compute_api:os-shelve": {
        "member": "shelve unshelve",
        "administrator": "shelve_offload unshelve_to_host",
    },
    "os_compute_api:os-migrate-server": {"manager": "migrate migrate_live"},
    "os_compute_api:os-migrate-server:migrate": {"administrator": "host"},
    "os_compute_api:os-migrate-server:migrate_live": {"administrator": "host"},
    "os_compute_api:os-migrations": {"manager": "index"},
    "os_compute_api:os-migrations:index": {"administrator": "all_projects host"},
    "os_compute_api:servers:migrations": {
        "manager": "index delete force_complete",
        "administrator": "show",
    },
    "os_compute_api:os-networks": {"reader": "list show"},
    "os_compute_api:os-tenant-networks": {"reader": "list show"},
    "roost:images": {
        "reader": "list show download",
        "member": "create upload update delete",
        "administrator": "publicize",
    },
    "roost:images:members": {"reader": "list show", "member": "create update delete"},
    "roost:images:create": {"administrator": "other_owner"},
    "roost:networks": {"reader": "list show extensions", "member": "create update delete"},
    "roost:networks:create": {"administrator": "shared"},
    "roost:subnets": {"reader": "list show", "member": "create update delete"},
    "roost:ports": {"reader": "list show", "member": "create update delete"},
    "create_port": {"member": "mac_address"},
    "create_port:fixed_ips": {"member": "ip_address"},
}
LEAST = {
    f"{noun}:{name}": role
    for noun, roles in _BY_NOUN.items()
    for role, names in roles.items()
    for name in names.split()
}
