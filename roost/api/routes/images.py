"""The image API, as far as clients of Compute need it."""

from typing import Final

from roost.api.image_edits import ImageEdits
from roost.api.images import Images
from roost.api.policies import images as policies
from roost.api.route import DATA, Route, row
from roost.api.schemas import images as schemas

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
)
