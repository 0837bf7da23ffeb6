"""Tags of servers: short texts that users attach to a server, and filter lists by."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers.metadata import Edit, Edited, change
from roost.api.validation import always, wrapped
from roost.db.cell import metadata

_ROOT = "os_compute_api:os-server-tags"


TAGGED: Final = 26  # since 2.26 servers have tags, and lists may be filtered by them
MOST: Final = 50
TAG: Final = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
TAGS: Final[dict[str, Any]] = {"type": "array", "maxItems": MOST, "items": TAG}
REPLACE: Final = always(wrapped("tags", TAGS))
ONE: Final = always(TAG)


Tags = Sequence[str]


class ServerTags:
    """Handlers of ``/servers/{id}/tags``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"tags": list(self._find(call).instance.tags)})

    def show(self, call: Call) -> Answer:
        """Check whether the server has this tag."""
        instance, tag = self._find(call).instance, call.params["tag"]
        if tag not in instance.tags:
            raise _no_tag(str(instance.uuid), tag)
        return Answer()

    def add(self, call: Call) -> Answer:
        tag = call.params["tag"]
        _check(tag)
        done = self._change(call, lambda tags, _again: _with(tag, tags), doing="update tag")
        if not done.changed:
            return Answer(status=204)
        path = f"v2.1/servers/{call.params['server_id']}/tags/{quote(tag, safe='')}"
        return Answer(headers={"Location": f"{call.base_url}/{path}"})

    def replace(self, call: Call) -> Answer:
        asked = unique(call.body["tags"])
        done = self._change(call, lambda _tags, _again: asked, doing="update tags")
        return Answer({"tags": done.value})

    def delete(self, call: Call) -> Answer:
        uuid, tag = call.params["server_id"], call.params["tag"]

        def edit(before: Tags, again: bool) -> Tags:
            if tag not in before and not again:
                raise _no_tag(uuid, tag)
            return [one for one in before if one != tag]

        self._change(call, edit, doing="delete tag")
        return Answer()

    def delete_all(self, call: Call) -> Answer:
        self._change(call, lambda _tags, _again: [], doing="delete tags")
        return Answer()

    def _find(self, call: Call) -> ServerRef:
        return self._locator.find(call, call.params["server_id"])

    def _change(self, call: Call, edit: Edit, *, doing: str) -> Edited:
        return change(self._find(call), metadata.TAGS, edit, doing=doing)


def unique(tags: Tags) -> list[str]:
    """Return the tags without duplicates, in order."""
    return list(dict.fromkeys(tags))


def _check(tag: str) -> None:
    """Raise :class:`roost.exception.Invalid` for a path that names no tag."""
    try:
        ONE.check(tag, minor=TAGGED, what="tag")
    except exception.Invalid as error:
        raise exception.Invalid(
            f"Tag '{tag[:255]}' is invalid. It must be a non empty string without characters '/'"
            f" and ','. Validation error message: {error.message}"
        ) from error


def _with(tag: str, tags: Tags) -> Tags:
    """Add a tag unless it is there.

    :raises roost.exception.Invalid: when the server has the maximum of tags
    """
    if tag in tags:
        return tags
    if len(tags) >= MOST:
        raise exception.Invalid(f"The number of tags exceeded the per-server limit {MOST}")
    return [*tags, tag]


def _no_tag(uuid: str, tag: str) -> exception.NotFound:
    return exception.NotFound(f"Server {uuid} has no tag '{tag[:255]}'")


_ALL: Final = "/v2.1/servers/{server_id}/tags"
_ONE: Final = f"{_ALL}/{{tag}}"
ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerTags, ServerTags.list_all),
        Rule(f"{_ROOT}:index", READER, "List a server's tags."),
        since=TAGGED,
    ),
    row(
        f"PUT {_ALL}",
        (ServerTags, ServerTags.replace),
        Rule(f"{_ROOT}:update_all", MEMBER, "Replace a server's tags."),
        body=REPLACE,
        since=TAGGED,
    ),
    row(
        f"DELETE {_ALL}",
        (ServerTags, ServerTags.delete_all),
        Rule(f"{_ROOT}:delete_all", MEMBER, "Delete all tags of a server."),
        status=204,
        since=TAGGED,
    ),
    row(
        f"GET {_ONE}",
        (ServerTags, ServerTags.show),
        Rule(f"{_ROOT}:show", READER, "Check whether a server has a tag."),
        status=204,
        since=TAGGED,
    ),
    # the path has the tag; clients send no body, or null
    row(
        f"PUT {_ONE}",
        (ServerTags, ServerTags.add),
        Rule(f"{_ROOT}:update", MEMBER, "Add a tag to a server."),
        status=201,
        also=204,
        since=TAGGED,
    ),
    row(
        f"DELETE {_ONE}",
        (ServerTags, ServerTags.delete),
        Rule(f"{_ROOT}:delete", MEMBER, "Delete a tag of a server."),
        status=204,
        since=TAGGED,
    ),
)
