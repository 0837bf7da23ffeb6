"""Consoles that users type at: their kinds, and the tokens that open them.

Only who asked for a console knows its token. All others keep its digest, and compare.
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
# What the proxy says to a host's door, and the door answers to who may come in; then the console
# speaks. It is HTTP's CONNECT, so whatever else comes to a door by mistake understands it, too.
GREETING: Final = "CONNECT /{token} HTTP/1.1\r\n\r\n"
WELCOME: Final = b"HTTP/1.1 200 OK\r\n\r\n"
END: Final = b"\r\n\r\n"


def new_token() -> str:
    """Return a token that nobody guesses; it may stand in a URL as it is."""
    return secrets.token_urlsafe(_BYTES)


def digest(token: str) -> str:
    """Return what is kept of a token: as random as it is, so a quick hash will do."""
    return hashlib.sha256(token.encode()).hexdigest()


def looks_like_token(text: str) -> bool:
    """Tell whether it is worth while to look for such a token."""
    return _TOKEN.fullmatch(text) is not None
