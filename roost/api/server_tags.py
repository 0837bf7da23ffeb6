"""Servers' tags: words that users know a server by, and filter lists by."""

from collections.abc import Sequence
from urllib.parse import quote

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.server_tags import MOST, ONE, TAGGED
from roost.api.server_notes import Edit, Edited, change
from roost.api.whereabouts import Located, Whereabouts
from roost.db.cell import notes

Tags = Sequence[str]


class ServerTags:
    """Handlers of ``/servers/{id}/tags``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"tags": list(self._find(call).instance.tags)})

    def show(self, call: Call) -> Answer:
        """Tell whether the server has this tag."""
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

    def _find(self, call: Call) -> Located:
        return self._whereabouts.find(call, call.params["server_id"])

    def _change(self, call: Call, edit: Edit, *, doing: str) -> Edited:
        return change(self._find(call), notes.TAGS, edit, doing=doing)


def unique(tags: Tags) -> list[str]:
    """Return each tag once, in their order."""
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

    :raises roost.exception.Invalid: when there are as many as there may be
    """
    if tag in tags:
        return tags
    if len(tags) >= MOST:
        raise exception.Invalid(f"The number of tags exceeded the per-server limit {MOST}")
    return [*tags, tag]


def _no_tag(uuid: str, tag: str) -> exception.NotFound:
    return exception.NotFound(f"Server {uuid} has no tag '{tag[:255]}'")
