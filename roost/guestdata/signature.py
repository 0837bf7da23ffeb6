"""Signed request headers, as Neutron's metadata agent sends them for guests.

The agent at a guest's interface identifies the guest in headers, and signs them with a secret that
only such agents and roost-metadata share.
"""

import hashlib
import hmac
from typing import Final

INSTANCE: Final = "X-Instance-ID"
PROJECT: Final = "X-Tenant-ID"
SIGNATURE: Final = "X-Instance-ID-Signature"


def sign(secret: str, instance_uuid: str) -> str:
    """Return the HMAC-SHA256 of an instance's uuid."""
    return hmac.new(secret.encode(), instance_uuid.encode("latin-1"), hashlib.sha256).hexdigest()


def headers(secret: str, *, instance_uuid: str, project_id: str) -> dict[str, str]:
    """Return the headers of a guest's request."""
    return {
        INSTANCE: instance_uuid,
        PROJECT: project_id,
        SIGNATURE: sign(secret, instance_uuid),
    }
