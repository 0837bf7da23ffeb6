"""Quota sets and quota class sets: the limits of projects and of users in them.

Operators read and set them; boots and server groups are checked against the same limits.
"""

from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.compute import quota_resources
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, ANYBODY, READER, Rule
from roost.api.request import Answer, Call, truth
from roost.api.route import Route, row
from roost.api.validation import BOOLEAN, MAX_INTEGER, TEXT, Schema, list_query, of, wrapped
from roost.db.api import quota
from roost.db.engine import Session, retried

# -1: no limit. The handler checks the size of a limit written as a string.
_LIMIT: Final = {
    "oneOf": [
        {"type": "integer", "minimum": -1, "maximum": MAX_INTEGER},
        {"type": "string", "pattern": "^(-1|[0-9]{1,10})$"},
    ]
}
QUERY: Final = list_query({"user_id": TEXT})


def _limits(*gone: str, **more: Any) -> Any:
    names = [*quota_resources.ALL, "networks"]
    return of({**{name: _LIMIT for name in names if name not in gone}, **more})


def _sets(*gone: str) -> Any:
    return wrapped("quota_set", _limits(*gone, force=BOOLEAN))


def _classes(*gone: str) -> Any:
    return wrapped("quota_class_set", _limits(*gone))


_NETWORKS: Final = (*quota_resources.NETWORKS, "networks")
_GONE: Final = (*_NETWORKS, *quota_resources.FILES)
UPDATE: Final = Schema(
    {
        1: _sets(),
        quota_resources.NO_NETWORKS: _sets(*_NETWORKS),
        quota_resources.NO_FILES: _sets(*_GONE),
    }
)
UPDATE_CLASS: Final = Schema(
    {
        1: _classes(),
        quota_resources.CLASSES: _classes(*_NETWORKS),
        quota_resources.NO_FILES: _classes(*_GONE),
    }
)


def shown_limits(found: Mapping[str, int], *, version: int) -> dict[str, int]:
    """Return the limits of a project."""
    return {name: found[name] for name in quota_resources.of_sets(version)}


def shown_class_limits(found: Mapping[str, int], *, version: int) -> dict[str, int]:
    """Return the limits of a class."""
    return {name: found[name] for name in quota_resources.of_classes(version)}


def detailed(
    found: Mapping[str, int], used: Mapping[str, int], *, version: int
) -> dict[str, dict[str, int]]:
    """Return limits and usage. ``reserved`` is always 0: requested amounts count as used."""
    return {
        name: {"in_use": used.get(name, 0), "limit": found[name], "reserved": 0}
        for name in quota_resources.of_sets(version)
    }


_LONGEST = 255  # characters of a project's id, or of a class's name
_USED = "already used and reserved {}"
_Amounts = Mapping[str, int]


class QuotaSets:
    """Handlers of ``/os-quota-sets``: the limits that boots and server groups are checked against.

    They are a project's, or with ``user_id`` in the query those of one user in it. A user without
    limits of their own has the project's.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._defaults = quota_resources.defaults(dependencies.options.quota)

    def show(self, call: Call) -> Answer:
        project, user = _project(call), _user(call)
        limits = self._database.query(quota.limits, project, self._defaults, user_id=user)
        return _shown(call, shown_limits(limits, version=call.version))

    def show_defaults(self, call: Call) -> Answer:
        limits = {
            **self._defaults,
            **self._database.query(quota.of_class, quota.DEFAULT_CLASS),
        }
        return _shown(call, shown_limits(limits, version=call.version))

    def show_detail(self, call: Call) -> Answer:
        project, user = _project(call), _user(call)
        with self._database.read() as session:
            limits = quota.limits(session, project, self._defaults, user_id=user)
            if user:
                used = quota.usage_of_user(session, project, user)
            else:
                used = quota.usage(session, project)
        return _shown(call, detailed(limits, used, version=call.version))

    def update(self, call: Call) -> Answer:
        asked = dict(call.body["quota_set"])
        force = truth(str(asked.pop("force", False)), name="force")
        project, user = _known_project(call), _user(call)
        if user:
            limits = self._update_user(project, user, wanted_limits(asked), force)
        else:
            limits = self._update(project, wanted_limits(asked), force)
        return Answer({"quota_set": shown_limits(limits, version=call.version)})

    def delete(self, call: Call) -> Answer:
        """Reset a project to the default limits, or a user to the project's limits."""
        self._forget(_project(call), _user(call))
        return Answer()

    @retried
    def _update(self, project: str, limits: _Amounts, force: bool) -> dict[str, int]:
        with self._database.begin() as session:
            used = quota.locked_usage(session, project)
            if not force:
                given = quota.given_to_users(session, project)
                _check_least(limits, used, _USED)
                _check_least(limits, given, "the {} given to its users")
            quota.set_for_project(session, project, limits)
            return quota.limits(session, project, self._defaults)

    @retried
    def _update_user(
        self, project: str, user: str, limits: _Amounts, force: bool
    ) -> dict[str, int]:
        with self._database.begin() as session:
            quota.lock(session, project)
            if not force:
                used = quota.usage_of_user(session, project, user)
                _check_least(limits, used, _USED)
                _check_most(limits, self._room(session, project, but=user))
            quota.set_for_user(session, project, user, limits)
            return quota.limits(session, project, self._defaults, user_id=user)

    def _room(self, session: Session, project: str, *, but: str) -> dict[str, int]:
        """Return how much of a project's limits one user may have; -1: no limit.

        Amounts that users share are divided among them; limits per user apply to each in full.
        """
        given = quota.given_to_users(session, project, but=but)
        room = quota.limits(session, project, self._defaults)
        for name in quota.RESOURCES:
            if room[name] >= 0:
                room[name] = max(0, room[name] - given.get(name, 0))
        return room

    @retried
    def _forget(self, project: str, user: str | None) -> None:
        with self._database.begin() as session:
            if user:
                quota.forget_user(session, project, user)
            else:
                quota.forget_project(session, project)


class QuotaClassSets:
    """Handlers of ``/os-quota-class-sets``: the class ``default`` applies to every project."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._defaults = quota_resources.defaults(dependencies.options.quota)

    def show(self, call: Call) -> Answer:
        name = call.params["class_name"]
        limits = {**self._defaults, **self._database.query(quota.of_class, name)}
        shown = shown_class_limits(limits, version=call.version)
        return Answer({"quota_class_set": {"id": name, **shown}})

    def update(self, call: Call) -> Answer:
        name = call.params["class_name"]
        if len(name) > _LONGEST:
            raise exception.Invalid(f"The name of a class has {_LONGEST} characters at most.")
        limits = self._update(name, wanted_limits(call.body["quota_class_set"]))
        return Answer({"quota_class_set": shown_class_limits(limits, version=call.version)})

    @retried
    def _update(self, name: str, limits: _Amounts) -> dict[str, int]:
        with self._database.begin() as session:
            quota.set_for_class(session, name, limits)
            return {**self._defaults, **quota.of_class(session, name)}


def wanted_limits(asked: Mapping[str, int | str]) -> dict[str, int]:
    """Return the limits of a valid body, by resource.

    :raises roost.exception.Invalid: for a limit that is too large
    """
    limits = {name: int(value) for name, value in asked.items()}
    for name, limit in limits.items():
        if limit > MAX_INTEGER:
            raise exception.Invalid(
                f"Invalid input for field/attribute {name}: {limit} is greater than {MAX_INTEGER}"
            )
    return limits


def _check_least(limits: _Amounts, least: _Amounts, why: str) -> None:
    for name, limit in limits.items():
        if 0 <= limit < least.get(name, 0):
            raise exception.Invalid(
                f"Quota limit {limit} for {name} must be greater than or equal to"
                f" {why.format(least[name])}."
            )


def _check_most(limits: _Amounts, most: _Amounts) -> None:
    for name, limit in limits.items():
        if most.get(name, -1) >= 0 and not 0 <= limit <= most[name]:
            raise exception.Invalid(
                f"Quota limit {limit} for {name} must be less than or equal to {most[name]}, which"
                " the project has left for this user."
            )


def _project(call: Call) -> str:
    project = call.params["project_id"]
    call.require_for(project)
    return project


def _user(call: Call) -> str | None:
    return call.query.one("user_id") or None


def _known_project(call: Call) -> str:
    project = _project(call)
    if len(project) > _LONGEST:
        raise exception.Invalid(f"Project ID {project[:_LONGEST]} is not a valid project.")
    return project


def _shown(call: Call, values: Mapping[str, object]) -> Answer:
    return Answer({"quota_set": {"id": call.params["project_id"], **values}})


_SET: Final = "/v2.1/os-quota-sets/{project_id}"
_CLASS: Final = "/v2.1/os-quota-class-sets/{class_name}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_SET}",
        (QuotaSets, QuotaSets.show),
        Rule(
            "os_compute_api:os-quota-sets:show",
            READER,
            "Show the quotas of a project, or of a user in it.",
        ),
        query=QUERY,
    ),
    row(
        f"GET {_SET}/defaults",
        (QuotaSets, QuotaSets.show_defaults),
        Rule("os_compute_api:os-quota-sets:defaults", ANYBODY, "Show the quotas of a new project."),
    ),
    row(
        f"GET {_SET}/detail",
        (QuotaSets, QuotaSets.show_detail),
        Rule("os_compute_api:os-quota-sets:detail", READER, "Show quotas and their usage."),
        query=QUERY,
    ),
    row(
        f"PUT {_SET}",
        (QuotaSets, QuotaSets.update),
        Rule(
            "os_compute_api:os-quota-sets:update",
            ADMIN,
            "Set the quotas of a project, or of a user in it.",
        ),
        query=QUERY,
        body=UPDATE,
    ),
    row(
        f"DELETE {_SET}",
        (QuotaSets, QuotaSets.delete),
        Rule(
            "os_compute_api:os-quota-sets:delete",
            ADMIN,
            "Reset a project to the default quotas, or a user to the project's.",
        ),
        query=QUERY,
        status=202,
    ),
    row(
        f"GET {_CLASS}",
        (QuotaClassSets, QuotaClassSets.show),
        Rule(
            "os_compute_api:os-quota-class-sets:show",
            ADMIN,
            "Show the quotas of a class of projects.",
        ),
    ),
    row(
        f"PUT {_CLASS}",
        (QuotaClassSets, QuotaClassSets.update),
        Rule(
            "os_compute_api:os-quota-class-sets:update",
            ADMIN,
            "Set the quotas of a class of projects.",
        ),
        body=UPDATE_CLASS,
    ),
)
