"""Rules of the images that servers boot from."""

from roost.api.policies.base import READER, rule

LIST = "roost:images:list"
SHOW = "roost:images:show"

RULES = [
    rule(LIST, READER, "List images.", "GET /image/v2/images"),
    rule(SHOW, READER, "Show an image.", "GET /image/v2/images/{image_id}"),
]
