"""What Tempest is told: where the cloud is, and what it need not ask it for."""

import pathlib

from roost.api.microversions import MAXIMUM, MINIMUM
from roost.rig.files import config_text
from roost.rig.openstack.contents import PRIVATE, PUBLIC
from roost.rig.openstack.plan import REGION
from tests.tempest.cloud import Cloud

_NO, _YES = "false", "true"


def write(workspace: pathlib.Path, cloud: Cloud) -> pathlib.Path:
    """Write ``tempest.conf`` into a folder and return where it is."""
    path = workspace / "tempest.conf"
    options = _options(workspace, cloud)
    path.write_text(config_text(options))
    return path


def _options(workspace: pathlib.Path, cloud: Cloud) -> dict[str, dict[str, object]]:
    return {
        "DEFAULT": {"log_dir": workspace, "log_file": "tempest.log"},
        "oslo_concurrency": {"lock_path": workspace / "locks"},
        "auth": {
            "use_dynamic_credentials": _YES,
            # networks of Roost's own have no routers to join them
            "create_isolated_networks": _YES if cloud.public_network else _NO,
            "admin_username": "admin",
            "admin_password": cloud.password,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
        },
        "identity": {
            "auth_version": "v3",
            "uri_v3": cloud.identity,
            "v3_endpoint_type": "public",
            "region": REGION,
            "http_timeout": 120,
        },
        "service_available": {
            "nova": _YES,
            "glance": _YES,
            "neutron": _YES,
            "cinder": _NO,
            "swift": _NO,
            "horizon": _NO,
        },
        "enforce_scope": {"nova": _YES},  # what only reads is asked by who may only read
        "compute": {
            "image_ref": cloud.images[0],
            "image_ref_alt": cloud.images[1],
            "flavor_ref": cloud.flavors[0],
            "flavor_ref_alt": cloud.flavors[1],
            "fixed_network_name": "" if cloud.public_network else PRIVATE,
            "min_compute_nodes": cloud.hosts,
            "hypervisor_type": "fake",
            "min_microversion": f"2.{MINIMUM}",
            "max_microversion": f"2.{MAXIMUM}",
            "build_interval": 1,
        },
        # Servers have no volumes; their hypervisors pretend.
        "compute-feature-enabled": {
            "resize": _YES,
            "shelve": _YES,
            "cold_migration": _YES,
            "live_migration": _YES,
            "attach_encrypted_volume": _NO,
            "change_password": _YES,
            "personality": _YES,
            "hostname_fqdn_sanitization": _YES,
            "scheduler_enabled_filters": "all",  # those of hints are by default
            "vnc_console": _YES,
            "metadata_service": _NO,  # it is asked from inside of guests
        },
        "network": {
            "public_network_id": cloud.public_network,
            "floating_network_name": PUBLIC if cloud.public_network else "",
        },
        "network-feature-enabled": {
            "floating_ips": _YES if cloud.public_network else _NO,
            "ipv6": _NO,
            "api_extensions": ",".join(cloud.network_extensions),
        },
        "validation": {"run_validation": _NO},  # nobody logs in to pretended guests
        "image-feature-enabled": {"import_image": _NO},
        "volume-feature-enabled": {"api_v3": _NO},
    }
