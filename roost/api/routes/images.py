"""The image API, as far as clients of Compute need it."""

from typing import Final

from roost.api.image_edits import ImageEdits
from roost.api.image_members import ImageMembers
from roost.api.images import Images
from roost.api.policies import images as policies
from roost.api.route import DATA, Route, row
from roost.api.schemas import images as schemas

_TAG: Final = "/image/v2/images/{image_id}/tags/{tag}"
_MEMBERS: Final = "/image/v2/images/{image_id}/members"
_MEMBER: Final = f"{_MEMBERS}/{{member_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /image/v2/images",
        (Images, Images.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /image/v2/images",
        (ImageEdits, ImageEdits.create),
        policies.CREATE,
        body=schemas.CREATE,
        status=201,
    ),
    row("GET /image/v2/images/{image_id}", (Images, Images.show), policies.SHOW),
    row("GET /image/v2/images/{image_id}/tasks", (Images, Images.tasks), policies.SHOW),
    row(
        "PATCH /image/v2/images/{image_id}",
        (ImageEdits, ImageEdits.update),
        policies.UPDATE,
        body=schemas.PATCH,
        takes=schemas.PATCH_KINDS,
    ),
    row(
        "DELETE /image/v2/images/{image_id}",
        (ImageEdits, ImageEdits.delete),
        policies.DELETE,
        status=204,
    ),
    row(
        "PUT /image/v2/images/{image_id}/file",
        (ImageEdits, ImageEdits.upload),
        policies.UPLOAD,
        takes=(DATA,),
        status=204,
    ),
    row(
        "GET /image/v2/images/{image_id}/file",
        (Images, Images.download),
        policies.DOWNLOAD,
        gives=DATA,
        also=204,
    ),
    row(f"PUT {_TAG}", (ImageEdits, ImageEdits.tag), policies.UPDATE, status=204),
    row(f"DELETE {_TAG}", (ImageEdits, ImageEdits.untag), policies.UPDATE, status=204),
    row(f"GET {_MEMBERS}", (ImageMembers, ImageMembers.list_all), policies.MEMBERS_LIST),
    row(
        f"POST {_MEMBERS}",
        (ImageMembers, ImageMembers.create),
        policies.MEMBERS_CREATE,
        body=schemas.MEMBER_CREATE,
    ),
    row(f"GET {_MEMBER}", (ImageMembers, ImageMembers.show), policies.MEMBERS_SHOW),
    row(
        f"PUT {_MEMBER}",
        (ImageMembers, ImageMembers.update),
        policies.MEMBERS_UPDATE,
        body=schemas.MEMBER_UPDATE,
    ),
    row(
        f"DELETE {_MEMBER}",
        (ImageMembers, ImageMembers.delete),
        policies.MEMBERS_DELETE,
        status=204,
    ),
)
