"""What a project may use, and uses."""

from roost.api import policies, quota_resources
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import limits as views
from roost.db.api import quota


class Limits:
    """Handlers of ``/limits``.

    What is reserved is in use: the query's ``reserved`` makes no difference.
    """

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._defaults = quota_resources.defaults(parts.options.quota)

    def show(self, call: Call) -> Answer:
        other = call.query.one("tenant_id")
        if other and other != call.context.project_id:
            call.require(policies.limits.OTHER_PROJECT)
        project = other or call.project_id
        with self._database.read() as session:
            most = quota.limits(session, project, self._defaults)
            used = quota_resources.used(session, project, version=call.version)
        return Answer(views.full(most, used, version=call.version))
