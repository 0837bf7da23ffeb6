"""The description of the whole API, for tools: OpenAPI."""

import functools
from typing import Any

from roost.api import microversions, policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import openapi as views


class OpenApi:
    """Handlers of ``/openapi.json``."""

    def __init__(self, parts: Parts) -> None:
        """Nothing is needed: the document follows from the table of routes."""

    def show(self, call: Call) -> Answer:
        """Answer what all microversions know, or exactly what one does.

        :raises roost.exception.Invalid: for a microversion that is not offered
        """
        asked = call.query.one("microversion")
        minor = None if asked is None else microversions.offered(asked)
        return Answer({**document(minor), "servers": [{"url": call.base_url}]})


@functools.lru_cache(maxsize=4)  # each takes milliseconds and some hundred KB
def document(minor: int | None = None) -> dict[str, Any]:
    """Return the document of all microversions, each thing with the range that has it, or of one.

    :param minor: the minor microversion
    """
    from roost.api.routes import ROUTES  # which has this document in it, too

    return views.document(ROUTES, policies.list_rules(), minor=minor)
