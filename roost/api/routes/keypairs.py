"""Key pairs."""

from typing import Final

from roost.api.keypairs import Keypairs
from roost.api.policies import keypairs as policies
from roost.api.route import Route, row
from roost.api.schemas import keypairs as schemas

_KEYPAIR: Final = "/v2.1/os-keypairs/{keypair_name}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-keypairs",
        (Keypairs, Keypairs.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /v2.1/os-keypairs",
        (Keypairs, Keypairs.create),
        policies.CREATE,
        body=schemas.CREATE,
        until=1,
    ),
    row(
        "POST /v2.1/os-keypairs",
        (Keypairs, Keypairs.create),
        policies.CREATE,
        body=schemas.CREATE,
        status=201,
        since=2,
    ),
    row(f"GET {_KEYPAIR}", (Keypairs, Keypairs.show), policies.SHOW, query=schemas.ONE_QUERY),
    row(
        f"DELETE {_KEYPAIR}",
        (Keypairs, Keypairs.delete),
        policies.DELETE,
        query=schemas.ONE_QUERY,
        status=202,
        until=1,
    ),
    row(
        f"DELETE {_KEYPAIR}",
        (Keypairs, Keypairs.delete),
        policies.DELETE,
        query=schemas.ONE_QUERY,
        status=204,
        since=2,
    ),
)
