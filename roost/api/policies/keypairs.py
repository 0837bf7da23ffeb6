"""Rules of key pairs: they belong to users, whatever the project."""

from roost.api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-keypairs:index"
CREATE = "os_compute_api:os-keypairs:create"
SHOW = "os_compute_api:os-keypairs:show"
DELETE = "os_compute_api:os-keypairs:delete"

_OWN = f"({ADMIN}) or user_id:%(user_id)s"
_KEYPAIR = "/os-keypairs/{keypair_name}"

RULES = [
    rule(LIST, _OWN, "List a user's key pairs.", "GET /os-keypairs"),
    rule(CREATE, _OWN, "Import or make a key pair of a user.", "POST /os-keypairs"),
    rule(SHOW, _OWN, "Show a user's key pair.", f"GET {_KEYPAIR}"),
    rule(DELETE, _OWN, "Delete a user's key pair; servers keep it.", f"DELETE {_KEYPAIR}"),
]
