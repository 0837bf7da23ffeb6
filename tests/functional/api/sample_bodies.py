"""What ``test_policies.py`` sends: a body for each route that takes one, and names of things."""

from tests.api_harness import IMAGE, PRIVATE
from tests.builders import PUBLIC_KEY

BODIES = {
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
    "POST /v2.1/servers/{server_id}/migrations/{migration_id}/action": {"force_complete": None},
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
OLD_NAMES = {
    "GET /v2.1/os-hypervisors/{hypervisor_id}/search": _HYPERVISOR,
    "GET /v2.1/os-hypervisors/{hypervisor_id}/servers": _HYPERVISOR,
}
# Rules -> the least role that passes them; all but an administrator only for their own project.
