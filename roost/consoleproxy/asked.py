"""What a browser asks for: by which token, and from which site's page."""

import urllib.parse
from collections.abc import Collection
from http import cookies
from typing import Final

_NAME: Final = "token"
_USUAL_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}


def token_in(target: str, cookie: str) -> str:
    """Return the token of a request; empty: it has none.

    Clients have it in the query, there in the path that noVNC is told, or in a cookie.

    :param target: path and query
    :param cookie: the header of that name
    """
    query = _query(target)
    if _NAME in query:
        return query[_NAME]
    inner = _query(query.get("path", ""))
    return inner.get(_NAME) or _in_cookie(cookie)


def is_welcome(origin: str | None, *, host: str, allowed: Collection[str]) -> bool:
    """Tell whether a page of that site may open consoles.

    Browsers say where a page is from, so that no other site types at consoles in its reader's
    name. Who says nothing is no browser.

    :param host: the header of that name: by it the proxy's own pages are known
    :param allowed: further sites
    """
    if origin is None:
        return True
    site = _site(origin)
    if site is None:
        return False
    return site in {_site(each) for each in allowed} or site == _site(f"{site[0]}://{host}")


def _site(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None: it is no site."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or _USUAL_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    return parts.scheme, parts.hostname, port


def _query(target: str) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))


def _in_cookie(header: str) -> str:
    try:
        found = cookies.SimpleCookie(header).get(_NAME)
    except cookies.CookieError:
        return ""
    return found.value if found else ""
