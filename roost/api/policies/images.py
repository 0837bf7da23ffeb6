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
]
