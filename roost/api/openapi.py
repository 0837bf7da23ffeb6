"""The description of the whole API, for tools: OpenAPI."""

import functools
from typing import Any

from roost.api import elsewhere, microversions, policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import openapi as views


class OpenApi:
    """Handlers of ``/openapi.json``."""

    def __init__(self, parts: Parts) -> None:
        self._elsewhere = elsewhere.roots(parts)

    def show(self, call: Call) -> Answer:
        """Answer what all microversions know, or exactly what one does.

        :raises roost.exception.Invalid: for a microversion that is not offered
        """
        asked = call.query.one("microversion")
        minor = None if asked is None else microversions.offered(asked)
        found = document(minor, self._elsewhere)
        return Answer({**found, "servers": [{"url": call.base_url}]})


@functools.lru_cache(maxsize=4)  # each takes milliseconds and some hundred KB
def document(minor: int | None = None, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the document of all microversions, each thing with the range that has it, or of one.

    :param minor: the minor microversion
    :param without: where the paths begin that are served elsewhere
    """
    from roost.api.routes import ROUTES  # which has this document in it, too

    served = [route for route in ROUTES if elsewhere.message(route.path, without) is None]
    return views.document(served, policies.list_rules(), minor=minor)
