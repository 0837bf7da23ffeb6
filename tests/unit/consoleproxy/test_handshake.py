"""By which token a browser asks, and from which site's page."""

import urllib.parse

import pytest

from roost.api.servers import consoles as servers_consoles
from roost.consoleproxy.proxy import is_welcome, token_in
from roost.objects import consoles


@pytest.mark.parametrize(
    ("target", "cookie"),
    [
        ("/?token=T", ""),
        ("/websockify?token=T&x=1", "token=other"),
        ("/?path=%3Ftoken%3DT", ""),
        ("/?path=websockify%3Ftoken%3DT", ""),
        ("/", "a=b; token=T; c=d"),
    ],
)
def test_a_token_is_in_the_query_in_the_path_there_or_in_a_cookie(target, cookie):
    assert token_in(target, cookie) == "T"


@pytest.mark.parametrize("target", ["/", "/token=T", "/?TOKEN=T", "/?token=", "/?path=token"])
def test_without_one_it_is_empty(target):
    assert token_in(target, "nothing; else") == ""


def test_the_page_of_novnc_is_told_what_the_proxy_understands():
    url = servers_consoles.url("https://here:6080/vnc_lite.html", consoles.VNC, "T")
    assert url == "https://here:6080/vnc_lite.html?path=%3Ftoken%3DT"
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))["path"]
    assert token_in(f"/{asked}", "") == "T"


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "here:6080"),
        ("http://here:6080", "here:6080"),
        ("https://HERE", "here"),
        ("https://here", "here:443"),
        ("https://dashboard.example", "here:6080"),
        ("https://dashboard.example:443", "here:6080"),
        ("http://[::1]:6080", "[::1]:6080"),
    ],
)
def test_pages_of_the_proxy_and_of_allowed_sites_are_welcome(origin, host):
    assert is_welcome(origin, host=host, allowed=["https://dashboard.example"])


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://dashboard.example",
        "https://dashboard.example.evil.example",
        "http://here:6081",
        "http://here:x",
        "null",
        "",
    ],
)
def test_pages_of_other_sites_are_not(origin):
    assert not is_welcome(origin, host="here:6080", allowed=["https://dashboard.example"])
