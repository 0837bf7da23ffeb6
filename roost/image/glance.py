"""The image store in Glance, by its Images API v2.

Requests carry the user's token, and Glance decides what the user may see and do. Without a token (a
daemon's own work, or an api without Keystone) they carry our own credentials, which may see
everything: then visibility is checked here.
"""

import contextlib
import datetime
import hashlib
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final, Self, cast
from urllib import parse

import openstack.exceptions
from keystoneauth1 import exceptions as keystone_errors
from oslo_config import cfg

from roost import exception
from roost.context import RequestContext
from roost.external.session import ServiceSessions
from roost.image.driver import (
    ACTIVE,
    QUEUED,
    EditProperties,
    ImageMember,
    Members,
    is_own,
    is_uuid,
    may_see,
)
from roost.image.glance_client import Http, Incoming, Outgoing, ask, json_of
from roost.objects import ImageMeta

# The fields that are not properties, and that may not be used as names of properties.
_FIELDS: Final = frozenset(
    {
        "checksum",
        "container_format",
        "created_at",
        "direct_url",
        "disk_format",
        "file",
        "id",
        "locations",
        "min_disk",
        "min_ram",
        "name",
        "os_hash_algo",
        "os_hash_value",
        "os_hidden",
        "owner",
        "protected",
        "schema",
        "self",
        "size",
        "status",
        "stores",
        "tags",
        "updated_at",
        "validation_data",
        "virtual_size",
        "visibility",
    }
)
_RESERVED: Final = "os_glance"  # properties of this prefix are Glance's own
_HASH: Final = re.compile(r"[0-9a-f]{32,128}", re.ASCII)
_MD5: Final = "md5"


def image_of(found: Mapping[str, Any]) -> ImageMeta:
    """Return the image of an answer.

    :raises roost.exception.Unavailable: when it is no image, so the answer is not from Glance
    """
    try:
        return _image_of(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise exception.Unavailable("Glance's answer is not an image.", why=repr(error)) from error


def member_of(found: Mapping[str, Any]) -> ImageMember:
    """Return the image member of an answer.

    :raises roost.exception.Unavailable: when it is no member, so the answer is not from Glance
    """
    try:
        times = [datetime.datetime.fromisoformat(found[at]) for at in ("created_at", "updated_at")]
        return ImageMember(str(found["member_id"]), str(found["status"]), *times)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise exception.Unavailable("Glance's answer is not a member.", why=repr(error)) from error


def document_of(image: ImageMeta) -> dict[str, Any]:
    """Return the request body that creates this image; the other fields follow from its data."""
    own = {
        "id": image.id,
        "name": image.name,
        "visibility": image.visibility,
        "disk_format": image.disk_format or None,
        "container_format": image.container_format or None,
        "min_ram": image.min_ram,
        "min_disk": image.min_disk,
    }
    return _properties(image.properties) | own


def patch_of(before: Mapping[str, str], after: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the JSON patch that changes the properties of an image.

    :raises roost.exception.Invalid: for a reserved name
    """
    for name in after.keys() - before.keys():
        if name in _FIELDS or name.startswith(_RESERVED):
            raise exception.Invalid(f"An image cannot have a property of the name {name!r}.")
    removed = [{"op": "remove", "path": _path(name)} for name in before if name not in after]
    changed = [
        {"op": "replace" if name in before else "add", "path": _path(name), "value": value}
        for name, value in after.items()
        if before.get(name) != value
    ]
    return removed + changed


def _path(name: str) -> str:
    """Return the JSON pointer of a property."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _image_of(found: Mapping[str, Any]) -> ImageMeta:
    algorithm, value = _hash(found)
    return ImageMeta.of(
        id=str(found["id"]),
        name=found.get("name") or "",
        status=found["status"],
        visibility=found["visibility"],
        owner=found.get("owner"),
        disk_format=found.get("disk_format") or "",
        container_format=found.get("container_format") or "",
        size=found.get("size") or 0,
        hash_algo=algorithm,
        hash_value=value,
        virtual_size=found.get("virtual_size") or 0,
        min_ram=found.get("min_ram") or 0,
        min_disk=found.get("min_disk") or 0,
        properties=_properties(found),
        created_at=datetime.datetime.fromisoformat(found["created_at"]),
        updated_at=datetime.datetime.fromisoformat(found["updated_at"]),
    )


def _hash(found: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the best hash that we can check, well-formed: it becomes a file name."""
    named = (found.get("os_hash_algo"), found.get("os_hash_value"))
    for algorithm, value in (named, (_MD5, found.get("checksum"))):
        if algorithm in hashlib.algorithms_guaranteed and _HASH.fullmatch(value or ""):
            return algorithm, value
    return None, None


def _properties(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in values.items()
        if name not in _FIELDS and not name.startswith(_RESERVED) and value is not None
    }


LOG = logging.getLogger(__name__)
GROUP: Final = "glance"
_PAGE: Final = 500
_LIST: Final = f"/images?sort=created_at:asc,id:asc&limit={_PAGE}"
_DATA: Final = "application/octet-stream"
_PATCH: Final = "application/openstack-images-v2.1-json-patch"
_GONE: Final = ("deleted", "pending_delete")
_BUSY: Final = 2.0  # seconds that Glance may take to end an aborted upload
_UNFILLED: Final = (QUEUED, "saving", "uploading", "importing", "killed")


class GlanceImageStore:
    """The :class:`roost.image.driver.OutsideImageStore` in Glance.

    :param options: the values of ``[glance]``
    """

    def __init__(self, identity: ServiceSessions, options: cfg.ConfigOpts.GroupAttr) -> None:
        self._identity = identity
        self._options = options

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(ServiceSessions(conf, GROUP), conf.glance)

    def hasty(self) -> Self:
        return type(self)(self._identity.hasty(), self._options)

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        with self._asking(context) as http:
            found = [image_of(each) for each in _pages(http)]
        return [image for image in found if _is_there(context, image)]

    def get(self, context: RequestContext, image_id: str) -> ImageMeta:
        with self._asking(context, image_id) as http:
            return _get(http, context, image_id)

    def open(self, context: RequestContext, image_id: str) -> BinaryIO:
        with self._asking(context, image_id) as http:
            image = _get(http, context, image_id)
            if image.status != ACTIVE:
                raise exception.Conflict(f"Image {image.id} is not active: it is {image.status}.")
            answer = ask(
                http, "GET", f"/images/{image_id}/file", stream=True, headers={"Accept": _DATA}
            )
        return cast("BinaryIO", Incoming(answer, seconds=self._options.transfer_timeout))

    def add(
        self,
        context: RequestContext,
        *,
        name: str,
        data: BinaryIO,
        disk_format: str = "raw",
        container_format: str = "bare",
        min_ram: int = 0,
        min_disk: int = 0,
        properties: Mapping[str, str] | None = None,
        visibility: str = "public",
        owner: str | None = None,
    ) -> ImageMeta:
        wanted = {
            "id": str(uuid.uuid4()),
            "name": name,
            "visibility": visibility,
            "owner": owner,
            "disk_format": disk_format,
            "container_format": container_format,
            "min_ram": min_ram,
            "min_disk": min_disk,
            "properties": dict(properties or {}),
        }
        image = self.create(context, ImageMeta(**wanted))
        try:
            return self.upload(context, image.id, data)
        except BaseException:
            self._abandon_partial(context, image.id)
            raise

    def _abandon_partial(self, context: RequestContext, image_id: str) -> None:
        """Delete an image whose upload was aborted; Glance may still be busy with its data."""
        until = time.monotonic() + _BUSY
        while True:
            try:
                return self.abandon(context, image_id)
            except exception.RoostError as error:
                if time.monotonic() > until:
                    LOG.warning("image %s is left without data: %s", image_id, error.message)
                    return None
            time.sleep(_BUSY / 5)

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        document = document_of(image)
        if image.owner and image.owner != (context.auth_token and context.project_id):
            document["owner"] = image.owner  # the default is the token's project
        with self._asking(context) as http:
            return image_of(json_of(ask(http, "POST", "/images", json=document)))

    def upload(self, context: RequestContext, image_id: str, data: BinaryIO) -> ImageMeta:
        with self._asking(context, image_id) as http:
            waiting = _own(http, context, image_id)
            if waiting.status != QUEUED:
                raise exception.Conflict(f"Image {image_id} has its data already.")
            sent = Outgoing(data, seconds=self._options.transfer_timeout)
            waits = self._options.timeout, self._options.transfer_timeout  # to send; to answer
            _send(http, image_id, sent, waits=waits)
            image = _get(http, context, image_id)
        _check_arrived(image, sent)
        return image

    def change_properties(
        self, context: RequestContext, image_id: str, edit: EditProperties
    ) -> ImageMeta:
        """Change only the edited properties, so concurrent changes of others do not conflict."""
        with self._asking(context, image_id) as http:
            image = _own(http, context, image_id)
            patch = patch_of(image.properties, edit(image.properties))
            if not patch:
                return image
            document, headers = json.dumps(patch), {"Content-Type": _PATCH}
            answer = ask(http, "PATCH", f"/images/{image_id}", data=document, headers=headers)
            return image_of(json_of(answer))

    def abandon(self, context: RequestContext, image_id: str) -> None:
        with contextlib.suppress(exception.NotFound), self._asking(context, image_id) as http:
            if _own(http, context, image_id).status in _UNFILLED:
                ask(http, "DELETE", f"/images/{image_id}")

    def delete(self, context: RequestContext, image_id: str) -> None:
        with self._asking(context, image_id) as http:
            _own(http, context, image_id)
            ask(http, "DELETE", f"/images/{image_id}")

    @contextlib.contextmanager
    def _asking(self, context: RequestContext, image_id: str | None = None) -> Iterator[Http]:
        """Yield a client with the caller's credentials; a NotFound names the image."""
        if image_id is not None and not is_uuid(image_id):  # it becomes part of the path
            raise _not_found(image_id)
        try:
            yield self._connect(context)
        except exception.NotFound as error:
            raise _not_found(image_id) from error
        except exception.Unauthenticated as error:
            if context.auth_token:
                raise
            raise exception.Unavailable("Glance does not know us.", group=GROUP) from error

    def _connect(self, context: RequestContext) -> Http:
        """Return the image API's proxy; this may discover the API versions."""
        try:
            connection = self._identity.connection(
                self._identity.user_session(context),
                "image",
                image_api_version="2",
                global_request_id=context.global_request_id or context.request_id,
            )
            return cast("Http", connection.image)
        except (keystone_errors.ClientException, openstack.exceptions.SDKException) as error:
            raise exception.Unavailable("Glance cannot be found.", why=str(error)) from error


def _pages(http: Http) -> Iterator[Mapping[str, object]]:
    path: str | None = _LIST
    while path:
        page = json_of(ask(http, "GET", path))
        yield from page.get("images", ())
        following = page.get("next")
        query = parse.urlsplit(following).query if following else ""
        path = f"/images?{query}" if query else None


def _get(http: Http, context: RequestContext, image_id: str) -> ImageMeta:
    image = image_of(json_of(ask(http, "GET", f"/images/{image_id}")))
    if not _is_there(context, image, lambda: _members(http, image_id)):
        raise _not_found(image_id)
    return image


def _members(http: Http, image_id: str) -> Members:
    """Return the members of an image, as Glance lists them for its owner and for services."""
    found = json_of(ask(http, "GET", f"/images/{image_id}/members")).get("members", ())
    return [member_of(each) for each in found]


def _own(http: Http, context: RequestContext, image_id: str) -> ImageMeta:
    """Return an image that the caller may change, as far as we can tell."""
    image = _get(http, context, image_id)
    if not context.auth_token and not is_own(context, image):
        raise exception.Forbidden(f"Image {image_id} belongs to another project.")
    return image


def _is_there(
    context: RequestContext, image: ImageMeta, members: Callable[[], Members] = tuple
) -> bool:
    visible = bool(context.auth_token) or may_see(context, image, members)
    return visible and image.status not in _GONE


def _send(http: Http, image_id: str, sent: Outgoing, *, waits: tuple[float, float]) -> None:
    """Send data; an error of reading it takes precedence over that of the request."""
    headers = {"Content-Type": _DATA}
    try:
        ask(http, "PUT", f"/images/{image_id}/file", data=sent, headers=headers, timeout=waits)
    except Exception:
        if sent.trouble is not None:
            raise sent.trouble from None
        raise


def _check_arrived(image: ImageMeta, sent: Outgoing) -> None:
    known = image.hash_algo == sent.algorithm
    if image.size != sent.size or (known and image.hash_value != sent.hash_value):
        raise exception.Unavailable(
            f"Image {image.id} was damaged on its way to Glance: {sent.size} bytes were sent,"
            f" {image.size} arrived."
        )


def _not_found(image_id: str | None) -> exception.NotFound:
    return exception.NotFound(f"Image {image_id} could not be found.")
