"""Remote consoles: their types, and the tokens that open them.

Only the user who requested a console has its token. Roost stores and compares digests.
"""

import hashlib
import re
import secrets
from typing import Final

VNC: Final = "vnc"
SPICE: Final = "spice"
SERIAL: Final = "serial"
KINDS: Final = (VNC, SPICE, SERIAL)
_BYTES: Final = 32
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
# The proxy's request to a host's console listener, and the listener's answer to a valid token; the
# console's data follows. It is HTTP's CONNECT, so stray HTTP clients understand it, too.
GREETING: Final = "CONNECT /{token} HTTP/1.1\r\n\r\n"
WELCOME: Final = b"HTTP/1.1 200 OK\r\n\r\n"
END: Final = b"\r\n\r\n"


def new_token() -> str:
    """Return an unguessable, URL-safe token."""
    return secrets.token_urlsafe(_BYTES)


def digest(token: str) -> str:
    """Return the digest of a token for storage; tokens are random, so a fast hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def looks_like_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None
