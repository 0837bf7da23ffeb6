"""Who may use a flavor that is not public."""

from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.api import policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import flavors as views
from roost.db.api import flavor_access as rows
from roost.db.api import flavors as flavor_rows
from roost.db.engine import Session, retried_if_undone
from roost.objects import Flavor

_Act = Callable[[Call, Any], Answer]
_NOT_TO_PUBLIC: Final = 7  # since 2.7 nobody is given access to a flavor that all may use


class FlavorAccess:
    """Handlers of ``/flavors/{flavor_id}/os-flavor-access`` and ``action``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database

    def list_all(self, call: Call) -> Answer:
        """List the projects that have access.

        :raises roost.exception.NotFound: also for a public flavor, which has no such list
        """
        flavorid = call.params["flavor_id"]
        with self._database.read() as session:
            if flavor_rows.get(session, flavorid).is_public:
                raise exception.NotFound("Access list not available for public flavors.")
            return _shown(session, flavorid)

    def act(self, call: Call) -> Answer:
        """Do the one thing that the body names, if the caller may."""
        ((name, asked),) = call.body.items()
        call.require(policies.flavors.ACTIONS[name])
        actions: dict[str, _Act] = {
            "addTenantAccess": self._add,
            "removeTenantAccess": self._remove,
        }
        return actions[name](call, asked)

    @retried_if_undone
    def _add(self, call: Call, asked: Any) -> Answer:
        flavorid = call.params["flavor_id"]
        with self._database.begin() as session:
            flavor = flavor_rows.get(session, flavorid)
            if flavor.is_public and call.version >= _NOT_TO_PUBLIC:
                raise exception.Conflict("Can not add access to a public flavor.")
            rows.add(session, flavorid, asked["tenant"])
            return _shown(session, flavorid)

    @retried_if_undone
    def _remove(self, call: Call, asked: Any) -> Answer:
        flavorid = call.params["flavor_id"]
        with self._database.begin() as session:
            rows.remove(session, flavorid, asked["tenant"])
            return _shown(session, flavorid)


def may_use(session: Session, call: Call, flavor: Flavor) -> bool:
    """Tell whether a flavor is there for the caller."""
    if flavor.is_public or call.allows(policies.flavors.ALL):
        return True
    project = call.context.project_id
    return project is not None and rows.has(session, flavor.flavorid, project)


def _shown(session: Session, flavorid: str) -> Answer:
    return Answer(views.access(flavorid, rows.list_projects(session, flavorid)))
