"""The table of routes: everything that the API serves, and what each request must pass."""

from typing import Any, Final

from roost.api import policies
from roost.api.availability_zones import AvailabilityZones
from roost.api.flavors import Flavors
from roost.api.images import Images
from roost.api.instance_actions import InstanceActions
from roost.api.limits import Limits
from roost.api.networks import Networks
from roost.api.route import Route
from roost.api.schemas import flavors as flavor_schemas
from roost.api.schemas import images as image_schemas
from roost.api.schemas import instance_actions as action_schemas
from roost.api.schemas import limits as limit_schemas
from roost.api.schemas import networks as network_schemas
from roost.api.schemas import servers as server_schemas
from roost.api.schemas import services as service_schemas
from roost.api.schemas.base import ANY_QUERY
from roost.api.servers import Servers
from roost.api.services import Services
from roost.api.versions import Versions


def _row(operation: str, handler: tuple[type[Any], Any], policy: str, **more: Any) -> Route:
    """Make a row; ``operation`` is method and path. Without a query of its own it takes any."""
    method, path = operation.split(" ")
    noun, function = handler
    return Route(
        method=method,
        path=path,
        noun=noun,
        handler=function,
        policy=policy,
        **{"query": ANY_QUERY, **more},
    )


ROUTES: Final[tuple[Route, ...]] = (
    _row("GET /", (Versions, Versions.list_compute), policies.versions.VERSIONS),
    _row("GET /v2.1", (Versions, Versions.show_compute), policies.versions.VERSIONS),
    _row(
        "GET /v2.1/flavors",
        (Flavors, Flavors.list_brief),
        policies.flavors.LIST,
        query=flavor_schemas.LIST_QUERY,
    ),
    _row(
        "POST /v2.1/flavors",
        (Flavors, Flavors.create),
        policies.flavors.CREATE,
        body=flavor_schemas.CREATE,
    ),
    _row(
        "GET /v2.1/flavors/detail",
        (Flavors, Flavors.list_detailed),
        policies.flavors.LIST,
        query=flavor_schemas.LIST_QUERY,
    ),
    _row("GET /v2.1/flavors/{flavor_id}", (Flavors, Flavors.show), policies.flavors.SHOW),
    _row(
        "PUT /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.update),
        policies.flavors.UPDATE,
        body=flavor_schemas.UPDATE,
        since=55,
    ),
    _row(
        "DELETE /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.delete),
        policies.flavors.DELETE,
        status=202,
    ),
    _row(
        "GET /v2.1/flavors/{flavor_id}/os-extra_specs",
        (Flavors, Flavors.list_specs),
        policies.flavors.LIST_SPECS,
    ),
    _row(
        "POST /v2.1/flavors/{flavor_id}/os-extra_specs",
        (Flavors, Flavors.create_specs),
        policies.flavors.CREATE_SPECS,
        body=flavor_schemas.CREATE_SPECS,
    ),
    _row(
        "GET /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.show_spec),
        policies.flavors.SHOW_SPEC,
    ),
    _row(
        "PUT /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.update_spec),
        policies.flavors.UPDATE_SPEC,
        body=flavor_schemas.UPDATE_SPEC,
    ),
    _row(
        "DELETE /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.delete_spec),
        policies.flavors.DELETE_SPEC,
    ),
    _row(
        "GET /v2.1/servers",
        (Servers, Servers.list_brief),
        policies.servers.LIST,
        query=server_schemas.LIST_QUERY,
    ),
    _row(
        "POST /v2.1/servers",
        (Servers, Servers.create),
        policies.servers.CREATE,
        body=server_schemas.CREATE,
        status=202,
    ),
    _row(
        "GET /v2.1/servers/detail",
        (Servers, Servers.list_detailed),
        policies.servers.DETAIL,
        query=server_schemas.LIST_QUERY,
    ),
    _row("GET /v2.1/servers/{server_id}", (Servers, Servers.show), policies.servers.SHOW),
    _row(
        "PUT /v2.1/servers/{server_id}",
        (Servers, Servers.update),
        policies.servers.UPDATE,
        body=server_schemas.UPDATE,
    ),
    _row(
        "DELETE /v2.1/servers/{server_id}",
        (Servers, Servers.delete),
        policies.servers.DELETE,
        status=204,
    ),
    _row(
        "POST /v2.1/servers/{server_id}/action",
        (Servers, Servers.act),
        policies.servers.ACT,
        body=server_schemas.ACTION,
        status=202,
    ),
    _row(
        "GET /v2.1/servers/{server_id}/os-instance-actions",
        (InstanceActions, InstanceActions.list_brief),
        policies.instance_actions.LIST,
        query=action_schemas.LIST_QUERY,
    ),
    _row(
        "GET /v2.1/servers/{server_id}/os-instance-actions/{request_id}",
        (InstanceActions, InstanceActions.show),
        policies.instance_actions.SHOW,
    ),
    _row(
        "GET /v2.1/os-services",
        (Services, Services.list_all),
        policies.services.LIST,
        query=service_schemas.LIST_QUERY,
    ),
    _row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update_legacy),
        policies.services.UPDATE,
        body=service_schemas.LEGACY_UPDATE,
        until=52,
    ),
    _row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update),
        policies.services.UPDATE,
        body=service_schemas.UPDATE,
        since=53,
    ),
    _row(
        "GET /v2.1/os-availability-zone",
        (AvailabilityZones, AvailabilityZones.list_brief),
        policies.availability_zones.LIST,
    ),
    _row(
        "GET /v2.1/os-availability-zone/detail",
        (AvailabilityZones, AvailabilityZones.list_detailed),
        policies.availability_zones.DETAIL,
    ),
    _row(
        "GET /v2.1/limits",
        (Limits, Limits.show),
        policies.limits.SHOW,
        query=limit_schemas.SHOW_QUERY,
    ),
    _row("GET /image", (Versions, Versions.list_image), policies.versions.VERSIONS),
    _row("GET /image/v2", (Versions, Versions.list_image), policies.versions.VERSIONS),
    _row(
        "GET /image/v2/images",
        (Images, Images.list_all),
        policies.images.LIST,
        query=image_schemas.LIST_QUERY,
    ),
    _row("GET /image/v2/images/{image_id}", (Images, Images.show), policies.images.SHOW),
    _row("GET /network", (Versions, Versions.list_network), policies.versions.VERSIONS),
    _row("GET /network/v2.0", (Versions, Versions.show_network), policies.versions.VERSIONS),
    _row(
        "GET /network/v2.0/networks",
        (Networks, Networks.list_all),
        policies.networks.LIST,
        query=network_schemas.LIST_QUERY,
    ),
    _row(
        "GET /network/v2.0/networks/{network_id}", (Networks, Networks.show), policies.networks.SHOW
    ),
    _row(
        "GET /network/v2.0/extensions",
        (Networks, Networks.extensions),
        policies.networks.EXTENSIONS,
    ),
)
