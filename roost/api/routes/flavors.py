"""Flavors and their extra specs."""

from typing import Final

from roost.api.flavor_access import FlavorAccess
from roost.api.flavors import Flavors
from roost.api.policies import flavors as policies
from roost.api.route import Route, row
from roost.api.schemas import flavors as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/flavors",
        (Flavors, Flavors.list_brief),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /v2.1/flavors",
        (Flavors, Flavors.create),
        policies.CREATE,
        body=schemas.CREATE,
    ),
    row(
        "GET /v2.1/flavors/detail",
        (Flavors, Flavors.list_detailed),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row("GET /v2.1/flavors/{flavor_id}", (Flavors, Flavors.show), policies.SHOW),
    row(
        "PUT /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.update),
        policies.UPDATE,
        body=schemas.UPDATE,
        since=55,
    ),
    row(
        "DELETE /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.delete),
        policies.DELETE,
        status=202,
    ),
    row(
        "POST /v2.1/flavors/{flavor_id}/action",
        (FlavorAccess, FlavorAccess.act),
        policies.ACT,
        body=schemas.ACTION,
    ),
    row(
        "GET /v2.1/flavors/{flavor_id}/os-flavor-access",
        (FlavorAccess, FlavorAccess.list_all),
        policies.ALL,
    ),
    row(
        "GET /v2.1/flavors/{flavor_id}/os-extra_specs",
        (Flavors, Flavors.list_specs),
        policies.LIST_SPECS,
    ),
    row(
        "POST /v2.1/flavors/{flavor_id}/os-extra_specs",
        (Flavors, Flavors.create_specs),
        policies.CREATE_SPECS,
        body=schemas.CREATE_SPECS,
    ),
    row(
        "GET /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.show_spec),
        policies.SHOW_SPEC,
    ),
    row(
        "PUT /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.update_spec),
        policies.UPDATE_SPEC,
        body=schemas.UPDATE_SPEC,
    ),
    row(
        "DELETE /v2.1/flavors/{flavor_id}/os-extra_specs/{key}",
        (Flavors, Flavors.delete_spec),
        policies.DELETE_SPEC,
    ),
)
