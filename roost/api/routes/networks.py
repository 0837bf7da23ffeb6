"""The network API, as far as clients of Compute need it."""

from typing import Final

from roost.api.networks import Networks, Subnets
from roost.api.policies import networks as policies
from roost.api.ports import Ports
from roost.api.route import Route, row
from roost.api.schemas import networks as schemas

_NETWORKS: Final = "/network/v2.0/networks"
_SUBNETS: Final = "/network/v2.0/subnets"
_PORTS: Final = "/network/v2.0/ports"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_NETWORKS}", (Networks, Networks.list_all), policies.LIST, query=schemas.LIST_QUERY),
    row(
        f"POST {_NETWORKS}",
        (Networks, Networks.create),
        policies.CREATE,
        body=schemas.CREATE,
        status=201,
    ),
    row(f"GET {_NETWORKS}/{{network_id}}", (Networks, Networks.show), policies.SHOW),
    row(
        f"PUT {_NETWORKS}/{{network_id}}",
        (Networks, Networks.update),
        policies.UPDATE,
        body=schemas.UPDATE,
    ),
    row(
        f"DELETE {_NETWORKS}/{{network_id}}",
        (Networks, Networks.delete),
        policies.DELETE,
        status=204,
    ),
    row("GET /network/v2.0/extensions", (Networks, Networks.extensions), policies.EXTENSIONS),
    row(
        f"GET {_SUBNETS}",
        (Subnets, Subnets.list_all),
        policies.LIST_SUBNETS,
        query=schemas.SUBNETS_QUERY,
    ),
    row(
        f"POST {_SUBNETS}",
        (Subnets, Subnets.create),
        policies.CREATE_SUBNET,
        body=schemas.CREATE_SUBNET,
        status=201,
    ),
    row(f"GET {_SUBNETS}/{{subnet_id}}", (Subnets, Subnets.show), policies.SHOW_SUBNET),
    row(
        f"PUT {_SUBNETS}/{{subnet_id}}",
        (Subnets, Subnets.update),
        policies.UPDATE_SUBNET,
        body=schemas.UPDATE_SUBNET,
    ),
    row(
        f"DELETE {_SUBNETS}/{{subnet_id}}",
        (Subnets, Subnets.delete),
        policies.DELETE_SUBNET,
        status=204,
    ),
    row(f"GET {_PORTS}", (Ports, Ports.list_all), policies.LIST_PORTS, query=schemas.PORTS_QUERY),
    row(
        f"POST {_PORTS}",
        (Ports, Ports.create),
        policies.CREATE_PORT,
        body=schemas.CREATE_PORT,
        status=201,
    ),
    row(f"GET {_PORTS}/{{port_id}}", (Ports, Ports.show), policies.SHOW_PORT),
    row(
        f"PUT {_PORTS}/{{port_id}}",
        (Ports, Ports.update),
        policies.UPDATE_PORT,
        body=schemas.UPDATE_PORT,
    ),
    row(f"DELETE {_PORTS}/{{port_id}}", (Ports, Ports.delete), policies.DELETE_PORT, status=204),
)
