"""Flavors, and the access of projects to private flavors."""

import functools
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.pagination import self_links
from roost.api.policy import ADMIN, READER, Rule, any_of
from roost.api.request import Answer, Call, truth
from roost.api.route import Route, row
from roost.api.validation import (
    BOOLEAN,
    MAX_INTEGER,
    NAME,
    PAGE,
    SORT_DIRECTION,
    STRICT_QUERIES,
    TEXT,
    WHOLE_NUMBER,
    Schema,
    always,
    number,
    of,
    query,
    wrapped,
)
from roost.db.api import flavors as flavor_rows
from roost.db.api.flavors import SORT_KEYS
from roost.db.engine import Database, Session, retried, retried_if_undone
from roost.objects import Flavor

ALL_POLICY = Rule(
    "os_compute_api:os-flavor-access",
    ADMIN,
    "See private flavors, and the projects that have access to them.",
)
ACTIONS_POLICY: Final = {
    "addTenantAccess": Rule(
        f"{ALL_POLICY}:add_tenant_access", ADMIN, "Give a project access to a flavor."
    ),
    "removeTenantAccess": Rule(
        f"{ALL_POLICY}:remove_tenant_access", ADMIN, "Remove a project's access to a flavor."
    ),
}
LIST_SPECS_POLICY = Rule(
    "os_compute_api:os-flavor-extra-specs:index", READER, "List a flavor's extra specs."
)


DESCRIPTION: Final = 55  # since 2.55 flavors have a description
NAMES: Final = 102  # since 2.102 lists are filtered by name, and no request has a rxtx_factor

_ID = {
    "oneOf": [
        {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": r"^(?! )[a-zA-Z0-9. _-]*(?<! )$",
        },
        {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER},
        {"type": "null"},
    ]
}
_DESCRIPTION = {"type": ["string", "null"], "maxLength": 65535}
_CREATE: dict[str, Any] = {
    "name": NAME,
    "id": _ID,
    "ram": number(1),
    "vcpus": number(1),
    "disk": number(0),
    "swap": {"anyOf": [number(0), {"const": ""}]},
    "OS-FLV-EXT-DATA:ephemeral": number(0),
    "rxtx_factor": {
        "oneOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1e9},
            {"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?$"},
        ]
    },
    "os-flavor-access:is_public": BOOLEAN,
}
_REQUIRED = ["name", "ram", "vcpus", "disk"]
_DESCRIBED = {**_CREATE, "description": _DESCRIPTION}
_LEAN = {name: value for name, value in _DESCRIBED.items() if name != "rxtx_factor"}
CREATE: Final = Schema(
    {
        1: wrapped("flavor", of(_CREATE, required=_REQUIRED)),
        DESCRIPTION: wrapped("flavor", of(_DESCRIBED, required=_REQUIRED)),
        NAMES: wrapped("flavor", of(_LEAN, required=_REQUIRED)),
    }
)
UPDATE: Final = always(
    wrapped("flavor", of({"description": _DESCRIPTION}, required=["description"]))
)
_TENANT = of(
    {"tenant": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-]+$"}},
    required=["tenant"],
)
ACTION: Final = always(
    {
        **of({"addTenantAccess": _TENANT, "removeTenantAccess": _TENANT}),
        "minProperties": 1,
        "maxProperties": 1,
    }
)
_LIST: dict[str, Any] = {
    **PAGE,
    "is_public": TEXT,
    "minRam": WHOLE_NUMBER,
    "minDisk": WHOLE_NUMBER,
    "sort_key": {"enum": [*SORT_KEYS]},
    "sort_dir": SORT_DIRECTION,
}
_LEAN_KEYS = {"enum": [key for key in SORT_KEYS if key != "rxtx_factor"]}
LIST_QUERY: Final = Schema(
    {
        1: query(_LIST),
        STRICT_QUERIES: query(_LIST, strict=True),
        NAMES: query({**_LIST, "name": TEXT, "sort_key": _LEAN_KEYS}, strict=True),
    }
)


EXTRA_SPECS: Final = 61
ZERO_SWAP: Final = 75  # before, no swap was an empty string
NO_LEFTOVERS: Final = 102  # since 2.102 answers have no fields without effect


def brief(flavor: Flavor, *, version: int, base_url: str) -> dict[str, Any]:
    """Return a flavor of a plain list."""
    shown: dict[str, Any] = {
        "id": flavor.flavorid,
        "name": flavor.name,
        "links": self_links(base_url, "flavors", flavor.flavorid),
    }
    if version >= DESCRIPTION:
        shown["description"] = flavor.description
    return shown


def access(flavorid: str, projects: Iterable[str]) -> dict[str, Any]:
    """Return the projects with access to a private flavor."""
    return {"flavor_access": [{"flavor_id": flavorid, "tenant_id": one} for one in projects]}


def full(flavor: Flavor, *, version: int, base_url: str, with_specs: bool = True) -> dict[str, Any]:
    """Return a flavor with all its sizes.

    :param with_specs: whether the caller may see its extra specs
    """
    shown = {
        **brief(flavor, version=version, base_url=base_url),
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "swap": flavor.swap or (0 if version >= ZERO_SWAP else ""),
        "vcpus": flavor.vcpus,
        "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gb,
        "os-flavor-access:is_public": flavor.is_public,
    }
    if version < NO_LEFTOVERS:
        shown["OS-FLV-DISABLED:disabled"] = flavor.disabled
        shown["rxtx_factor"] = flavor.rxtx_factor
    if version >= EXTRA_SPECS and with_specs:
        shown["extra_specs"] = dict(flavor.extra_specs)
    return shown


def embedded(flavor: Flavor, *, with_specs: bool = True) -> Mapping[str, Any]:
    """Return the flavor that a server shows since 2.47."""
    shown: dict[str, Any] = {
        "original_name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap,
    }
    if with_specs:
        shown["extra_specs"] = dict(flavor.extra_specs)
    return shown


_Act = Callable[[Call, Any], Answer]
_NOT_TO_PUBLIC: Final = 7  # since 2.7 no project is given access to a public flavor


class FlavorAccess:
    """Handlers of ``/flavors/{flavor_id}/os-flavor-access`` and ``action``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database

    def list_all(self, call: Call) -> Answer:
        """List the projects that have access.

        :raises roost.exception.NotFound: also for a public flavor, which has no such list
        """
        flavorid = call.params["flavor_id"]
        with self._database.read() as session:
            if flavor_rows.get(session, flavorid).is_public:
                raise exception.NotFound("Access list not available for public flavors.")
            return _shown_access(session, flavorid)

    def act(self, call: Call) -> Answer:
        """Run the action that the body names, if the caller may."""
        ((name, asked),) = call.body.items()
        call.require(ACTIONS_POLICY[name])
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
            flavor_rows.add(session, flavorid, asked["tenant"])
            return _shown_access(session, flavorid)

    @retried_if_undone
    def _remove(self, call: Call, asked: Any) -> Answer:
        flavorid = call.params["flavor_id"]
        with self._database.begin() as session:
            flavor_rows.remove(session, flavorid, asked["tenant"])
            return _shown_access(session, flavorid)


def may_use(session: Session, call: Call, flavor: Flavor) -> bool:
    """Return whether the caller may use a flavor."""
    if flavor.is_public or call.allows(ALL_POLICY):
        return True
    project = call.context.project_id
    return project is not None and flavor_rows.has(session, flavor.flavorid, project)


# A URL may be longer than an id.
REFERENCE: Final = {"type": ["string", "integer"], "minLength": 1, "maxLength": 2048}


def usable_flavor(database: Database, call: Call, reference: str) -> Flavor:
    """Return a flavor for a server.

    :param reference: its id, or a URL that ends with it
    :raises roost.exception.Invalid: when there is none, or the caller may not use it
    """
    try:
        with database.read() as session:
            flavor = flavor_rows.get(session, reference.rpartition("/")[2])
            usable = may_use(session, call, flavor) and not flavor.disabled
    except exception.NotFound as error:
        raise exception.Invalid("Invalid flavorRef provided.") from error
    if not usable:
        raise exception.Invalid("Invalid flavorRef provided.")
    return flavor


def visible(database: Database, call: Call) -> Flavor:
    """Return the flavor of the path; a private one only to callers with access."""
    flavorid = call.params["flavor_id"]
    with database.read() as session:
        flavor = flavor_rows.get(session, flavorid)
        if not may_use(session, call, flavor):
            raise exception.NotFound(f"Flavor {flavorid} could not be found.")
    return flavor


def _shown_access(session: Session, flavorid: str) -> Answer:
    return Answer(access(flavorid, flavor_rows.list_projects(session, flavorid)))


class Flavors:
    """Handlers of ``/flavors``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._most = dependencies.options.max_limit

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, brief)

    def list_detailed(self, call: Call) -> Answer:
        with_specs = _may_see_specs(call)
        return self._list(call, functools.partial(full, with_specs=with_specs))

    def show(self, call: Call) -> Answer:
        return _shown(visible(self._database, call), call)

    @retried_if_undone
    def create(self, call: Call) -> Answer:
        flavor = _new(call.body["flavor"])
        with self._database.begin() as session:
            flavor_rows.create(session, flavor)
        return _shown(flavor, call)

    @retried
    def update(self, call: Call) -> Answer:
        flavorid = call.params["flavor_id"]
        with self._database.begin() as session:
            flavor_rows.update_description(session, flavorid, call.body["flavor"]["description"])
            flavor = flavor_rows.get(session, flavorid)
        return _shown(flavor, call)

    @retried_if_undone
    def delete(self, call: Call) -> Answer:
        with self._database.begin() as session:
            flavor_rows.delete(session, call.params["flavor_id"])
        return Answer()

    def _list(self, call: Call, view: Any) -> Answer:
        limit = pagination.limit(call, most=self._most)
        try:
            found = self._database.query(
                flavor_rows.list_flavors,
                is_public=_publicity(call),
                granted_to=call.context.project_id,
                min_ram=call.query.number("minRam"),
                min_disk=call.query.number("minDisk"),
                name=call.query.one("name") if call.version >= NAMES else None,
                sort_key=call.query.one("sort_key") or "flavorid",
                sort_dir=call.query.one("sort_dir") or "asc",
                marker=call.query.one("marker") or None,
                limit=limit,
            )
        except exception.NotFound as error:
            raise exception.Invalid(error.message) from error
        shown = [view(flavor, version=call.version, base_url=call.base_url) for flavor in found]
        more = len(found) == limit
        last = found[-1].flavorid if found else ""
        return Answer({"flavors": shown, **pagination.links(call, "flavors", full=more, last=last)})


def _publicity(call: Call) -> bool | None:
    """Return the filter ``is_public``; only callers who may see all flavors can set it."""
    if not call.allows(ALL_POLICY):
        return True
    asked = call.query.one("is_public")
    if asked is None:
        return True
    return None if asked.strip().lower() == "none" else truth(asked, name="is_public")


def _new(asked: dict[str, Any]) -> Flavor:
    """Make a flavor from a valid body.

    :raises roost.exception.Invalid: for numbers out of range, written as strings
    """
    given = asked.get("id")
    return Flavor(
        flavorid=str(uuid.uuid4()) if given in (None, "auto") else str(given),
        name=asked["name"],
        memory_mb=_number(asked, "ram", least=1),
        vcpus=_number(asked, "vcpus", least=1),
        root_gb=_number(asked, "disk"),
        ephemeral_gb=_number(asked, "OS-FLV-EXT-DATA:ephemeral"),
        swap=_number(asked, "swap"),
        rxtx_factor=float(asked.get("rxtx_factor", 1.0)),
        is_public=truth(str(asked.get("os-flavor-access:is_public", True)), name="is_public"),
        disabled=False,
        description=asked.get("description"),
        extra_specs={},
    )


def _number(asked: dict[str, Any], name: str, *, least: int = 0) -> int:
    value = int(asked.get(name) or 0)
    if not least <= value < 2**31:
        raise exception.Invalid(
            f"Invalid input for field/attribute {name}: {value} is not from {least} to {2**31 - 1}"
        )
    return value


def _may_see_specs(call: Call) -> bool:
    return call.allows(LIST_SPECS_POLICY)


def _shown(flavor: Flavor, call: Call) -> Answer:
    with_specs = _may_see_specs(call)
    shown = full(flavor, version=call.version, base_url=call.base_url, with_specs=with_specs)
    return Answer({"flavor": shown})


LIST_POLICY = Rule("os_compute_api:flavors:index", READER, "List flavors.")

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/flavors",
        (Flavors, Flavors.list_brief),
        LIST_POLICY,
        checks=(ALL_POLICY,),
        query=LIST_QUERY,
    ),
    row(
        "POST /v2.1/flavors",
        (Flavors, Flavors.create),
        Rule("os_compute_api:os-flavor-manage:create", ADMIN, "Create a flavor."),
        checks=(LIST_SPECS_POLICY,),
        body=CREATE,
    ),
    row(
        "GET /v2.1/flavors/detail",
        (Flavors, Flavors.list_detailed),
        LIST_POLICY,
        checks=(ALL_POLICY, LIST_SPECS_POLICY),
        query=LIST_QUERY,
    ),
    row(
        "GET /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.show),
        Rule("os_compute_api:flavors:show", READER, "Show a flavor."),
        checks=(ALL_POLICY, LIST_SPECS_POLICY),
    ),
    row(
        "PUT /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.update),
        Rule("os_compute_api:os-flavor-manage:update", ADMIN, "Change a flavor's description."),
        checks=(LIST_SPECS_POLICY,),
        body=UPDATE,
        since=55,
    ),
    row(
        "DELETE /v2.1/flavors/{flavor_id}",
        (Flavors, Flavors.delete),
        Rule("os_compute_api:os-flavor-manage:delete", ADMIN, "Delete a flavor."),
        status=202,
    ),
    row(
        "POST /v2.1/flavors/{flavor_id}/action",
        (FlavorAccess, FlavorAccess.act),
        Rule(
            "roost:flavors:action",
            any_of(ACTIONS_POLICY.values()),
            "Act on a flavor at all; each action has a rule of its own, too.",
        ),
        body=ACTION,
        checks=tuple(ACTIONS_POLICY.values()),
    ),
    row(
        "GET /v2.1/flavors/{flavor_id}/os-flavor-access",
        (FlavorAccess, FlavorAccess.list_all),
        ALL_POLICY,
    ),
)
