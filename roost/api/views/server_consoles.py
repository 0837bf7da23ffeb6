"""Consoles as JSON: the URL that opens one, and what is behind it."""

import urllib.parse
from typing import Any, Final

from roost import consoles
from roost.db.api.console_tokens import ConsoleToken

_TLS_PORT_SINCE: Final = 99


def remote_console(protocol: str, type_: str, url: str) -> dict[str, Any]:
    return {"remote_console": {"protocol": protocol, "type": type_, "url": url}}


def console(type_: str, url: str) -> dict[str, Any]:
    """Return the same, as actions told it until 2.5."""
    return {"console": {"type": type_, "url": url}}


def url(base: str, kind: str, token: str) -> str:
    """Return the URL of a console.

    Pages of screens are told the path to ask the proxy for: the token is part of that.
    """
    asked = f"token={token}"
    if kind in (consoles.VNC, consoles.SPICE):
        asked = urllib.parse.urlencode({"path": f"?{asked}"})
    return f"{base}{'&' if '?' in base else '?'}{asked}"


def connection(token: ConsoleToken, *, version: int) -> dict[str, Any]:
    """Return where a token leads. Doors of hosts have one port, and want to be told the token."""
    told: dict[str, Any] = {
        "instance_uuid": token.instance_uuid,
        "host": token.host,
        "port": token.port,
        "internal_access_path": None,
    }
    return {"console": told if version < _TLS_PORT_SINCE else told | {"tls_port": None}}
