"""Rules of availability zones."""

from roost.api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:os-availability-zone:list"
DETAIL = "os_compute_api:os-availability-zone:detail"

RULES = [
    rule(LIST, READER, "List availability zones.", "GET /os-availability-zone"),
    rule(
        DETAIL,
        ADMIN,
        "List availability zones with their hosts.",
        "GET /os-availability-zone/detail",
    ),
]
