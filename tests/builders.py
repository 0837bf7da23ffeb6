"""Objects for tests: a test names only what matters to it."""

import datetime
import uuid as uuids
from typing import Any

from roost import states
from roost.context import RequestContext
from roost.objects import (
    BuildRequest,
    Flavor,
    HostReport,
    ImageMeta,
    Instance,
    RequestSpec,
    Selection,
)

CELL1 = "11111111-1111-4111-8111-111111111111"
CELL2 = "22222222-2222-4222-8222-222222222222"
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)  # some time ago


def a_uuid() -> str:
    return str(uuids.uuid4())


def a_context(**values: Any) -> RequestContext:
    return RequestContext(
        **{"user_id": "user", "project_id": "project", "roles": ["member"], "overwrite": False}
        | values
    )


def a_flavor(**values: Any) -> Flavor:
    return Flavor.of(
        **{
            "flavorid": "1",
            "name": "m1.tiny",
            "vcpus": 1,
            "memory_mb": 512,
            "root_gb": 1,
            "ephemeral_gb": 0,
            "swap": 0,
            "rxtx_factor": 1.0,
            "is_public": True,
            "disabled": False,
            "description": None,
            "extra_specs": {},
        }
        | values
    )


def an_image(**values: Any) -> ImageMeta:
    return ImageMeta.of(
        **{
            "id": a_uuid(),
            "name": "tiny",
            "status": "active",
            "visibility": "public",
            "owner": None,
            "disk_format": "raw",
            "container_format": "bare",
            "size": 4,
            "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "min_ram": 0,
            "min_disk": 0,
            "properties": {},
            "created_at": NOW,
            "updated_at": NOW,
        }
        | values
    )


def an_instance(**values: Any) -> Instance:
    return Instance.of(
        **{
            "uuid": a_uuid(),
            "project_id": "project",
            "user_id": "user",
            "reservation_id": "r-12345678",
            "launch_index": 0,
            "display_name": "server",
            "display_description": None,
            "hostname": "server",
            "flavor": a_flavor(),
            "image": an_image(),
            "key_name": None,
            "user_data": None,
            "config_drive": False,
            "metadata": {},
            "tags": [],
            "access_ip_v4": None,
            "access_ip_v6": None,
            "availability_zone": None,
            "host": None,
            "node": None,
            "attempt": 0,
            "vm_state": states.BUILDING,
            "task_state": states.SCHEDULING,
            "power_state": states.NOSTATE,
            "networks": [],
            "network_info": None,
            "created_at": NOW,
            "updated_at": None,
            "launched_at": None,
            "deleted_at": None,
        }
        | values
    )


def a_spec(**values: Any) -> RequestSpec:
    return RequestSpec.of(
        **{
            "request_uuid": a_uuid(),
            "project_id": "project",
            "user_id": "user",
            "num_instances": 1,
            "flavor": a_flavor(),
            "image": an_image(),
            "availability_zone": None,
            "requested_host": None,
            "requested_node": None,
            "requested_cell": None,
            "ignore_hosts": [],
            "ignore_cells": [],
            "hints": {},
            "retry": None,
        }
        | values
    )


def a_wish(spec: RequestSpec, **values: Any) -> BuildRequest:
    instance = values.pop("instance", None) or an_instance(flavor=spec.flavor, image=spec.image)
    return BuildRequest.of(
        **{
            "instance_uuid": instance.uuid,
            "request_uuid": spec.request_uuid,
            "request_id": "req-" + a_uuid(),
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "instance": instance,
            "created_at": NOW,
        }
        | values
    )


def a_selection(host: str = "h1", **values: Any) -> Selection:
    return Selection.of(
        **{
            "host": host,
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "claimed": False,
        }
        | values
    )


def a_report(host: str = "h1", **values: Any) -> HostReport:
    return HostReport.of(
        **{
            "host": host,
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "enabled": True,
            "up": True,
            "vcpus": 8,
            "memory_mb": 16384,
            "disk_gb": 100,
            "vcpus_reserved": 0,
            "memory_mb_reserved": 0,
            "disk_gb_reserved": 0,
            "vcpus_ratio": 1.0,
            "memory_mb_ratio": 1.0,
            "disk_gb_ratio": 1.0,
            "vcpus_used": 0,
            "memory_mb_used": 0,
            "disk_gb_used": 0,
            "hypervisor_type": "fake",
            "hypervisor_version": 1,
            "traits": [],
            "instances": [],
            "reported_at": NOW,
        }
        | values
    )
