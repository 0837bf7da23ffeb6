"""Servers on their way to other hosts: none, as none is ever moved."""

from roost import exception
from roost.api import moments
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.migrations import PAGES
from roost.api.whereabouts import Whereabouts


class Migrations:
    """Handlers of ``/os-migrations`` and of ``/servers/{id}/migrations``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def list_all(self, call: Call) -> Answer:
        """Return none, once it is known that the query can be meant."""
        moments.changes(call, since=PAGES)
        marker = call.query.one("marker")
        if marker and call.version >= PAGES:
            raise exception.Invalid(f"Marker {marker} could not be found.")
        return Answer({"migrations": []})

    def list_of_server(self, call: Call) -> Answer:
        self._whereabouts.find(call, call.params["server_id"])
        return Answer({"migrations": []})

    def show_of_server(self, call: Call) -> Answer:
        server, migration = call.params["server_id"], call.params["migration_id"]
        self._whereabouts.find(call, server)
        raise exception.NotFound(f"Migration {migration} not found for instance {server}.")
