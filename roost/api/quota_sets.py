"""What a project may use, as operators read and set it."""

from collections.abc import Mapping

from roost import exception
from roost.api import quota_resources
from roost.api.call import Answer, Call, truth
from roost.api.parts import Parts
from roost.api.schemas.base import MAX_INTEGER
from roost.api.views import quota_sets as views
from roost.db.api import quota, quota_limits
from roost.db.engine import retried

_LONGEST = 255  # characters of a project's id, or of a class's name


class QuotaSets:
    """Handlers of ``/os-quota-sets``: the very limits that boots and server groups meet.

    Limits are of projects: users have none, so what is asked for a user is the project's limit, and
    beside it what the user has of it.
    """

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._defaults = quota_resources.defaults(parts.options.quota)

    def show(self, call: Call) -> Answer:
        project = _project(call)
        with self._database.read() as session:
            limits = quota.limits(session, project, self._defaults)
        return _shown(call, views.limits(limits, version=call.version))

    def show_defaults(self, call: Call) -> Answer:
        with self._database.read() as session:
            limits = {
                **self._defaults,
                **quota_limits.of_class(session, quota_limits.DEFAULT_CLASS),
            }
        return _shown(call, views.limits(limits, version=call.version))

    def show_detail(self, call: Call) -> Answer:
        project, user = _project(call), call.query.one("user_id")
        with self._database.read() as session:
            limits = quota.limits(session, project, self._defaults)
            if user:
                used = quota.usage_of_user(session, project, user)
            else:
                used = quota.usage(session, project)
        return _shown(call, views.detailed(limits, used, version=call.version))

    def update(self, call: Call) -> Answer:
        if call.query.one("user_id"):
            raise exception.Invalid("Users have no quotas of their own: set those of the project.")
        asked = dict(call.body["quota_set"])
        force = truth(str(asked.pop("force", False)), name="force")
        limits = self._update(_known_project(call), wanted_limits(asked), force=force)
        return Answer({"quota_set": views.limits(limits, version=call.version)})

    def delete(self, call: Call) -> Answer:
        """Let the defaults count again. A user has nothing that could be deleted."""
        if not call.query.one("user_id"):
            self._forget(_project(call))
        return Answer()

    @retried
    def _update(self, project: str, limits: Mapping[str, int], *, force: bool) -> dict[str, int]:
        with self._database.begin() as session:
            if not force:
                _check_enough(limits, quota.locked_usage(session, project))
            quota_limits.set_for_project(session, project, limits)
            return quota.limits(session, project, self._defaults)

    @retried
    def _forget(self, project: str) -> None:
        with self._database.begin() as session:
            quota_limits.forget_project(session, project)


class QuotaClassSets:
    """Handlers of ``/os-quota-class-sets``: the class ``default`` is every project's."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._defaults = quota_resources.defaults(parts.options.quota)

    def show(self, call: Call) -> Answer:
        name = call.params["class_name"]
        with self._database.read() as session:
            limits = {**self._defaults, **quota_limits.of_class(session, name)}
        shown = views.class_limits(limits, version=call.version)
        return Answer({"quota_class_set": {"id": name, **shown}})

    def update(self, call: Call) -> Answer:
        name = call.params["class_name"]
        if len(name) > _LONGEST:
            raise exception.Invalid(f"The name of a class has {_LONGEST} characters at most.")
        limits = self._update(name, wanted_limits(call.body["quota_class_set"]))
        return Answer({"quota_class_set": views.class_limits(limits, version=call.version)})

    @retried
    def _update(self, name: str, limits: Mapping[str, int]) -> dict[str, int]:
        with self._database.begin() as session:
            quota_limits.set_for_class(session, name, limits)
            return {**self._defaults, **quota_limits.of_class(session, name)}


def wanted_limits(asked: Mapping[str, int | str]) -> dict[str, int]:
    """Return the limits of a valid body, by resource.

    :raises roost.exception.Invalid: for one that is too large
    """
    limits = {name: int(value) for name, value in asked.items()}
    for name, limit in limits.items():
        if limit > MAX_INTEGER:
            raise exception.Invalid(
                f"Invalid input for field/attribute {name}: {limit} is greater than {MAX_INTEGER}"
            )
    return limits


def _check_enough(limits: Mapping[str, int], used: Mapping[str, int]) -> None:
    for name, limit in limits.items():
        least = used.get(name, 0)
        if 0 <= limit < least:
            raise exception.Invalid(
                f"Quota limit {limit} for {name} must be greater than or equal to already used"
                f" and reserved {least}."
            )


def _project(call: Call) -> str:
    project = call.params["project_id"]
    call.require_for(project)
    return project


def _known_project(call: Call) -> str:
    project = _project(call)
    if len(project) > _LONGEST:
        raise exception.Invalid(f"Project ID {project[:_LONGEST]} is not a valid project.")
    return project


def _shown(call: Call, values: Mapping[str, object]) -> Answer:
    return Answer({"quota_set": {"id": call.params["project_id"], **values}})
