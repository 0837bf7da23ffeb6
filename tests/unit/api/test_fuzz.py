"""Whatever is sent that is no JSON, or no HTTP: the answer is never that the API has failed.

What is JSON, and does not fit, is sent by tests/functional/api/test_openapi.py.
"""

import re

import pytest

from roost.api import microversions
from roost.api.dependencies import ApiOptions
from roost.standalone.tables import ROUTES
from tests.api_harness import IMAGE, made_in

_ODD = [
    b"",
    b"[]",
    b"null",
    b"5",
    b'"server"',
    b"{",
    b"\xff\xfe",
    b"\x00",
    b'{"server": NaN}',
    b'{"server": 1e999}',
    b'{"server": {"name": "a\\u0000b", "flavorRef": "1"}}',
    b'{"server": {"name": "\\ud800", "flavorRef": "1"}}',
    b'{"flavor": {"name": "a", "ram": 1' + b"0" * 5000 + b', "vcpus": 1, "disk": 1}}',
    b'{"flavor": {"name": "a", "ram": 99999999999999999999, "vcpus": 1, "disk": 1}}',
    b'{"flavor": {"name": "a", "ram": "9999999999", "vcpus": "1", "disk": "0"}}',
    b"[" * 100000,
    b'{"a":' * 15000 + b"1" + b"}" * 15000,
    b'{"extra_specs": {"a\\u0000": "b"}}',
]


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Asks a world that all tests share, as their requests change nothing."""
    with made_in(tmp_path_factory.mktemp("still"), ApiOptions(max_limit=5)) as world:
        yield world.client


def _send(client, route, data):
    return client.ask(
        route.method,
        re.sub(r"{\w+}", IMAGE, route.path),
        version=microversions.name(route.until),
        body=data,
        headers={"Content-Type": route.takes[0]},
    )


@pytest.mark.parametrize("data", _ODD, ids=range(len(_ODD)))
def test_an_odd_body_is_refused_by_every_route(still, data):
    statuses = (200, 400, 404) if data == b"[]" else (400, 404)  # to change nothing is a change
    for route in ROUTES:
        if route.body is not None:
            answer = _send(still, route, data)
            assert answer.status_code in statuses, (route.method, route.path, answer.text)
            assert answer.json


@pytest.mark.parametrize(
    "query", ["a=%00", "name=%00", "marker=%ff%fe", "limit=9" * 3, "&&==", "%"]
)
def test_odd_queries_are_answered(still, query):
    assert still.get("/v2.1/servers", query_string=query).status_code < 500


@pytest.mark.parametrize("path", ["%00", "%ff", "a%2Fb", "..", "%E2%82%AC", "x" * 5000])
def test_odd_paths_are_not_found(still, path):
    for noun in ("servers", "flavors"):
        assert still.get(f"/v2.1/{noun}/{path}").status_code == 404


@pytest.mark.parametrize("token", ["", ":", "::", "a:b:c", "é", "x" * 9000, "\x01", "admin"])
def test_any_token_is_taken(still, token):
    assert still.get("/v2.1/servers", token=token).status_code == 200


@pytest.mark.parametrize("version", ["2.x", "", "9" * 500 + ".1", "2." + "9" * 500, "2.1\x01", "é"])
def test_odd_versions_are_told_so(still, version):
    assert still.get("/v2.1/servers", version=version).status_code in (400, 406)
