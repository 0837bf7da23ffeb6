"""Flavors and their extra specs."""

import functools
import uuid
from typing import Any, Final

from roost import exception
from roost.api import extra_specs, paging, policies
from roost.api.call import Answer, Call, truth
from roost.api.flavor_access import may_use
from roost.api.parts import Parts
from roost.api.schemas.flavors import NAMES
from roost.api.views import flavors as views
from roost.db.api import flavors as rows
from roost.db.engine import retried, retried_if_undone
from roost.objects import Flavor

_CHECKED_SPECS: Final = 86  # since 2.86 extra specs are looked at when they are written


class Flavors:
    """Handlers of ``/flavors``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._most = parts.options.max_limit

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, views.brief)

    def list_detailed(self, call: Call) -> Answer:
        with_specs = _may_see_specs(call)
        return self._list(call, functools.partial(views.full, with_specs=with_specs))

    def show(self, call: Call) -> Answer:
        return _shown(self._get(call), call)

    @retried_if_undone
    def create(self, call: Call) -> Answer:
        flavor = _new(call.body["flavor"])
        with self._database.begin() as session:
            rows.create(session, flavor)
        return _shown(flavor, call)

    @retried
    def update(self, call: Call) -> Answer:
        flavorid = call.params["flavor_id"]
        with self._database.begin() as session:
            rows.update_description(session, flavorid, call.body["flavor"]["description"])
            flavor = rows.get(session, flavorid)
        return _shown(flavor, call)

    @retried_if_undone
    def delete(self, call: Call) -> Answer:
        with self._database.begin() as session:
            rows.delete(session, call.params["flavor_id"])
        return Answer()

    def list_specs(self, call: Call) -> Answer:
        return Answer({"extra_specs": dict(self._get(call).extra_specs)})

    def show_spec(self, call: Call) -> Answer:
        flavor, key = self._get(call), call.params["key"]
        if key not in flavor.extra_specs:
            raise exception.NotFound(f"Flavor {flavor.flavorid} has no extra specs with key {key}.")
        return Answer({key: flavor.extra_specs[key]})

    @retried
    def create_specs(self, call: Call) -> Answer:
        specs = _specs(call, call.body["extra_specs"])
        with self._database.begin() as session:
            rows.set_extra_specs(session, call.params["flavor_id"], specs)
        return Answer({"extra_specs": specs})

    @retried
    def update_spec(self, call: Call) -> Answer:
        specs = _specs(call, call.body)
        if call.params["key"] not in specs:
            raise exception.Invalid("Request body and URI mismatch")
        with self._database.begin() as session:
            rows.set_extra_specs(session, call.params["flavor_id"], specs)
        return Answer(specs)

    @retried_if_undone
    def delete_spec(self, call: Call) -> Answer:
        with self._database.begin() as session:
            rows.delete_extra_spec(session, call.params["flavor_id"], call.params["key"])
        return Answer()

    def _get(self, call: Call) -> Flavor:
        """Return the flavor of the path; one that is not public only to who may use it."""
        flavorid = call.params["flavor_id"]
        with self._database.read() as session:
            flavor = rows.get(session, flavorid)
            if not may_use(session, call, flavor):
                raise exception.NotFound(f"Flavor {flavorid} could not be found.")
        return flavor

    def _list(self, call: Call, view: Any) -> Answer:
        limit = paging.limit(call, most=self._most)
        try:
            with self._database.read() as session:
                found = rows.list_flavors(
                    session,
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
        return Answer({"flavors": shown, **paging.links(call, "flavors", full=more, last=last)})


def _publicity(call: Call) -> bool | None:
    """Return whether public flavors are asked for; only who may see all can ask for others."""
    if not call.allows(policies.flavors.ALL):
        return True
    asked = call.query.one("is_public")
    if asked is None:
        return True
    return None if asked.strip().lower() == "none" else truth(asked, name="is_public")


def _new(asked: dict[str, Any]) -> Flavor:
    """Make a flavor of a valid body.

    :raises roost.exception.Invalid: for numbers out of range, written as strings
    """
    given = asked.get("id")
    return Flavor(
        flavorid=str(uuid.uuid4()) if given in (None, "auto") else str(given),
        name=asked["name"].strip(),
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


def _specs(call: Call, asked: dict[str, Any]) -> dict[str, str]:
    """Return extra specs as texts.

    :raises roost.exception.Invalid: since 2.86, for what cannot be meant
    """
    specs = {key: str(value) for key, value in asked.items()}
    if call.version >= _CHECKED_SPECS:
        extra_specs.check(specs)
    return specs


def _may_see_specs(call: Call) -> bool:
    return call.allows(policies.flavors.LIST_SPECS)


def _shown(flavor: Flavor, call: Call) -> Answer:
    with_specs = _may_see_specs(call)
    shown = views.full(flavor, version=call.version, base_url=call.base_url, with_specs=with_specs)
    return Answer({"flavor": shown})
