"""The ways in which clients write the paths of Compute, brought to the one that the routes have."""

import re
from collections.abc import Iterable
from typing import Final

import falcon

from roost import exception
from roost.api.middleware import COMPUTE
from roost.api.route import Route

_SEGMENT: Final = re.compile(r"/v2\.1/([^/]+)(/.*)?", re.ASCII)


class ProjectPaths:
    """Takes the project's id out of ``/v2.1/{project_id}/servers``.

    It stands where no noun of the routes stands. Comes after authentication: whose path it is must
    be who asks.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        paths = (route.path.split("/") for route in routes)
        self._nouns = {words[2] for words in paths if words[1] == COMPUTE[1:] and len(words) > 2}  # noqa: PLR2004

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        found = _SEGMENT.fullmatch(req.path)
        if found is None or found[1] in self._nouns or found[2] is None:
            return
        rest = found[2].split("/")
        if rest[1] not in self._nouns:
            return
        project = req.context.caller.project_id
        if found[1] != project:
            raise exception.Invalid(
                f"Malformed request URL: URL's project_id '{found[1]}' doesn't match Context's"
                f" project_id '{project}'"
            )
        req.path = COMPUTE + found[2]
