"""What ``tests/external/nova.py`` finds wrong with answers, by schemas made up here."""

import json

import falcon
import falcon.testing
import pytest

from tests.external import nova, nova_differences

_NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "additionalProperties": False,
}
_AGED = _NAMED | {"properties": {"name": {}, "since": {"type": "string", "format": "date-time"}}}
_NONE = {"type": "null"}


def _operation(method, path, *bodies, **told):
    usual = {"action": "", "gone": False, "since": 1, "until": 104, "statuses": []}
    return {"method": method, "path": path, "bodies": bodies, **usual, **told}


SHAPES = [
    _operation("GET", "/things/{id}", (0, 9, _NAMED), (10, 999, _AGED), until=50),
    _operation("GET", "/things/all", (0, 999, {"type": "array"})),
    _operation(
        "POST", "/things/{id}/action", (0, 999, _NONE), action="stop", statuses=[(1, 9, 202)]
    ),
    _operation("POST", "/things/{id}/action", (0, 999, _AGED), action="age"),
]


@pytest.fixture
def shapes():
    return nova.Shapes(SHAPES)


def _problems(shapes, path, body, *, minor=1):
    return shapes.problems("GET", path, None, minor, 200, body)


@pytest.mark.parametrize(
    ("minor", "body", "problem"),
    [
        (1, {"name": "a"}, None),
        (1, {"name": 1}, "GET /things/{id} 2.1 $.name: 1 is not of type 'string'"),
        (9, {"since": "2026-01-01T00:00:00Z"}, "('since' was unexpected)"),
        (10, {"since": "2026-01-01T00:00:00Z"}, None),
        (10, {"since": "yesterday"}, "'yesterday' is not a 'date-time'"),
        (51, {}, "not in 2.51"),
    ],
)
def test_an_answer_is_measured_by_the_schema_of_its_microversion(shapes, minor, body, problem):
    found = _problems(shapes, "/v2.1/things/7", body, minor=minor)
    assert len(found) == (0 if problem is None else 1)
    assert (problem or "") in "".join(found)


def test_a_path_may_have_a_project_and_words_go_before_braces(shapes):
    assert _problems(shapes, "/v2.1/things/all", []) == []
    assert _problems(shapes, "/v2.1/a-project/things/all/", []) == []
    assert _problems(shapes, "/v2.1/a-project/things/7", []) != []


def test_what_nova_does_not_have_is_a_problem_where_it_has_the_path(shapes):
    path = "/v2.1/things/7/action"
    assert shapes.problems("POST", path, {"age": None}, 1, 200, {}) == []
    assert shapes.problems("POST", path, {"dance": None}, 1, 200, {}) != []


def test_the_status_counts_where_nova_names_it(shapes):
    path = "/v2.1/things/7/action"
    found = shapes.problems("POST", path, {"stop": None}, 9, 200, None)
    assert found == ["POST /things/{id}/action stop 2.9 status 200, not 202"]
    assert shapes.problems("POST", path, {"stop": None}, 10, 200, None) == []


def test_what_is_meant_to_differ_is_no_problem(shapes, monkeypatch):
    meant = nova_differences.Difference(r"GET /things/\{id\}", r"\$\.name: 1 is .*", "it may")
    monkeypatch.setattr(nova, "DIFFERENCES", (meant,))
    assert _problems(shapes, "/v2.1/things/7", {"name": 1}) == []
    assert _problems(shapes, "/v2.1/things/7", {"name": 2}) != []


class _Thing:
    def on_post(self, req, resp, thing):
        resp.set_header("OpenStack-API-Version", "compute 2.1")
        resp.media = {"told": json.load(req.bounded_stream)}
        resp.status = int(req.get_param("status", default="202"))


def test_a_watch_sees_what_an_application_answers_and_changes_nothing(shapes, monkeypatch):
    watch = nova.Watch(shapes)
    monkeypatch.setattr(falcon.App, "__call__", watch.over(falcon.App.__call__))
    app = falcon.App()
    app.add_route("/v2.1/things/{thing}/action", _Thing())
    client = falcon.testing.TestClient(app)
    for status in ("409", "202"):  # only success has a shape
        answer = client.simulate_post(
            "/v2.1/things/7/action", params={"status": status}, json={"stop": None}
        )
        assert answer.json == {"told": {"stop": None}}
    (problem,) = watch.problems
    assert problem.endswith("is not of type 'null'")
