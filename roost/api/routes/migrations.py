"""Migrations."""

from typing import Final

from roost.api.migrations import Migrations
from roost.api.policies import migrations as policies
from roost.api.route import Route, row
from roost.api.schemas import migrations as schemas

_OF_SERVER: Final = "/v2.1/servers/{server_id}/migrations"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-migrations",
        (Migrations, Migrations.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        f"GET {_OF_SERVER}",
        (Migrations, Migrations.list_of_server),
        policies.LIST_OF_SERVER,
        since=23,
    ),
    row(
        f"GET {_OF_SERVER}/{{migration_id}}",
        (Migrations, Migrations.show_of_server),
        policies.SHOW_OF_SERVER,
        since=23,
    ),
)
