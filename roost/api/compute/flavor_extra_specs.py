"""The extra specs of flavors: requirements that a flavor makes of hosts and guests."""

from typing import Any, Final

from roost import exception
from roost.api.compute.flavors import ALL_POLICY, LIST_SPECS_POLICY, visible
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import always, wrapped
from roost.db.api import flavors as flavor_rows
from roost.db.engine import retried_if_undone
from roost.hardware import names

_KEY = r"^[a-zA-Z0-9\-_:. ]{1,255}$"
_SPEC_VALUE = {"type": ["string", "number"], "maxLength": 255, "minimum": -1e15, "maximum": 1e15}


def _specs(**more: int) -> dict[str, Any]:
    return {
        "type": "object",
        "patternProperties": {_KEY: _SPEC_VALUE},
        "additionalProperties": False,
        "maxProperties": 128,
        **more,
    }


CREATE: Final = always(wrapped("extra_specs", _specs()))
UPDATE: Final = always(_specs(minProperties=1, maxProperties=1))
_CHECKED_SPECS: Final = 86  # since 2.86 extra specs are validated when they are written


class FlavorExtraSpecs:
    """Handlers of ``/flavors/{flavor_id}/os-extra_specs``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database

    def list_all(self, call: Call) -> Answer:
        return Answer({"extra_specs": dict(visible(self._database, call).extra_specs)})

    def show(self, call: Call) -> Answer:
        flavor, key = visible(self._database, call), call.params["key"]
        if key not in flavor.extra_specs:
            raise exception.NotFound(f"Flavor {flavor.flavorid} has no extra specs with key {key}.")
        return Answer({key: flavor.extra_specs[key]})

    def create(self, call: Call) -> Answer:
        specs = _read(call, call.body["extra_specs"])
        self._database.write(flavor_rows.set_extra_specs, call.params["flavor_id"], specs)
        return Answer({"extra_specs": specs})

    def update(self, call: Call) -> Answer:
        specs = _read(call, call.body)
        if call.params["key"] not in specs:
            raise exception.Invalid("Request body and URI mismatch")
        self._database.write(flavor_rows.set_extra_specs, call.params["flavor_id"], specs)
        return Answer(specs)

    @retried_if_undone
    def delete(self, call: Call) -> Answer:
        with self._database.begin() as session:
            flavor_rows.delete_extra_spec(session, call.params["flavor_id"], call.params["key"])
        return Answer()


def _read(call: Call, asked: dict[str, Any]) -> dict[str, str]:
    """Return extra specs as strings.

    :raises roost.exception.Invalid: since 2.86, for invalid extra specs
    """
    specs = {key: str(value) for key, value in asked.items()}
    if call.version >= _CHECKED_SPECS:
        names.check_written(specs)
    return specs


_ALL: Final = "/v2.1/flavors/{flavor_id}/os-extra_specs"
_ONE: Final = f"{_ALL}/{{key}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (FlavorExtraSpecs, FlavorExtraSpecs.list_all),
        LIST_SPECS_POLICY,
        checks=(ALL_POLICY,),
    ),
    row(
        f"POST {_ALL}",
        (FlavorExtraSpecs, FlavorExtraSpecs.create),
        Rule("os_compute_api:os-flavor-extra-specs:create", ADMIN, "Add extra specs to a flavor."),
        body=CREATE,
    ),
    row(
        f"GET {_ONE}",
        (FlavorExtraSpecs, FlavorExtraSpecs.show),
        Rule(
            "os_compute_api:os-flavor-extra-specs:show", READER, "Show an extra spec of a flavor."
        ),
        checks=(ALL_POLICY,),
    ),
    row(
        f"PUT {_ONE}",
        (FlavorExtraSpecs, FlavorExtraSpecs.update),
        Rule(
            "os_compute_api:os-flavor-extra-specs:update",
            ADMIN,
            "Change an extra spec of a flavor.",
        ),
        body=UPDATE,
    ),
    row(
        f"DELETE {_ONE}",
        (FlavorExtraSpecs, FlavorExtraSpecs.delete),
        Rule(
            "os_compute_api:os-flavor-extra-specs:delete",
            ADMIN,
            "Delete an extra spec of a flavor.",
        ),
    ),
)
