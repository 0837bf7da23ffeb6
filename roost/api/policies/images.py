"""Rules of the images that servers boot from."""

from roost.api.policies.base import ADMIN, MEMBER, READER, rule

LIST = "roost:images:list"
SHOW = "roost:images:show"
DOWNLOAD = "roost:images:download"
CREATE = "roost:images:create"
UPLOAD = "roost:images:upload"
UPDATE = "roost:images:update"
DELETE = "roost:images:delete"
PUBLICIZE = "roost:images:publicize"
OTHER_OWNER = "roost:images:create:other_owner"
MEMBERS_LIST = "roost:images:members:list"
MEMBERS_SHOW = "roost:images:members:show"
MEMBERS_CREATE = "roost:images:members:create"
MEMBERS_UPDATE = "roost:images:members:update"
MEMBERS_DELETE = "roost:images:members:delete"
_MEMBERS = "/image/v2/images/{image_id}/members"
_MEMBER = f"{_MEMBERS}/{{member_id}}"

RULES = [
    rule(
        LIST,
        READER,
        "List images.",
        "GET /image/v2/images",
        "GET /images",
        "GET /images/detail",
    ),
    rule(
        SHOW,
        READER,
        "Show an image.",
        "GET /image/v2/images/{image_id}",
        "GET /image/v2/images/{image_id}/tasks",
        "GET /images/{image_id}",
        "GET /images/{image_id}/metadata",
        "GET /images/{image_id}/metadata/{key}",
    ),
    rule(DOWNLOAD, READER, "Read an image's data.", "GET /image/v2/images/{image_id}/file"),
    rule(CREATE, MEMBER, "Describe a new image.", "POST /image/v2/images"),
    rule(UPLOAD, MEMBER, "Give an image its data.", "PUT /image/v2/images/{image_id}/file"),
    rule(
        UPDATE,
        MEMBER,
        "Change an image's description.",
        "PATCH /image/v2/images/{image_id}",
        "PUT /image/v2/images/{image_id}/tags/{tag}",
        "DELETE /image/v2/images/{image_id}/tags/{tag}",
        "POST /images/{image_id}/metadata",
        "PUT /images/{image_id}/metadata",
        "PUT /images/{image_id}/metadata/{key}",
        "DELETE /images/{image_id}/metadata/{key}",
    ),
    rule(
        DELETE,
        MEMBER,
        "Delete an image.",
        "DELETE /image/v2/images/{image_id}",
        "DELETE /images/{image_id}",
    ),
    rule(
        PUBLICIZE,
        ADMIN,
        "Let everybody see an image, in lists as well.",
        "POST /image/v2/images",
        "PATCH /image/v2/images/{image_id}",
    ),
    rule(
        OTHER_OWNER,
        ADMIN,
        "Give an image to another project.",
        "POST /image/v2/images",
        "PATCH /image/v2/images/{image_id}",
    ),
    rule(MEMBERS_LIST, READER, "List whom an image is shared with.", f"GET {_MEMBERS}"),
    rule(MEMBERS_SHOW, READER, "Show what a project says to an image.", f"GET {_MEMBER}"),
    rule(MEMBERS_CREATE, MEMBER, "Share an image with another project.", f"POST {_MEMBERS}"),
    rule(MEMBERS_UPDATE, MEMBER, "Accept an image, or reject it.", f"PUT {_MEMBER}"),
    rule(MEMBERS_DELETE, MEMBER, "Share an image no more.", f"DELETE {_MEMBER}"),
]
