"""What every answer has: ids, versions, errors in the OpenStack shape."""

import logging
import re

import falcon.testing
import pytest

from roost import exception
from roost.api import faults
from roost.standalone.tables import ROUTES
from tests import log_lines
from tests.api_harness import ALICE

_REQUEST_ID = re.compile(r"req-[0-9a-f-]{36}")


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/v2.1/nowhere", 404, "itemNotFound"),
        ("GET", "/nowhere", 404, "itemNotFound"),
        ("GET", "/v2.1/flavors/none", 404, "itemNotFound"),
        ("GET", "/v2.1/os-services/detail", 404, "itemNotFound"),
        ("GET", "/v2.1/os-security-group-rules/detail", 404, "itemNotFound"),
        ("POST", "/v2.1/os-services/detail", 405, "badMethod"),
        ("PATCH", "/v2.1/flavors", 405, "badMethod"),
        ("POST", "/v2.1/flavors/1", 405, "badMethod"),
        ("PUT", "/v2.1/flavors/1", 404, "itemNotFound"),  # there since 2.55
        ("GET", "/v2.1/servers?limit=x", 400, "badRequest"),
        ("GET", "/v2.1/servers?limit=-1", 400, "badRequest"),
        ("GET", "/v2.1/servers?sort_key=moon", 400, "badRequest"),
        ("GET", "/v2.1/servers?changes-since=then", 400, "badRequest"),
        ("GET", "/v2.1/servers?all_tenants=maybe", 400, "badRequest"),
        ("GET", "/v2.1/servers?marker=nobody", 400, "badRequest"),
        ("POST", "/v2.1/flavors", 400, "badRequest"),
    ],
)
def test_an_error_has_the_shape_that_clients_know(client, method, path, status, name):
    answer = client.ask(method, path)
    assert answer.status_code == status
    assert list(answer.json) == [name]
    assert answer.json[name]["code"] == status
    assert answer.json[name]["message"]


@pytest.mark.parametrize(
    ("error", "level"),
    [(exception.Unsupported, "INFO"), (exception.VersionTooOld, "WARNING")],
)
def test_what_a_hypervisor_cannot_do_is_nothing_to_alert_on(caplog, error, level):
    class Refusing:
        def on_post(self, _req, _resp):
            raise error("no rescue here")

    app = faults.App()
    app.add_route("/action", Refusing())
    faults.install(app)
    caplog.set_level(logging.INFO, logger="roost")
    assert falcon.testing.simulate_post(app, "/action").status_code == 501
    (said,) = [one for one in caplog.records if one.name == "roost.api.faults"]
    assert (said.levelname, "no rescue here" in said.message) == (level, True)


@pytest.mark.parametrize(
    "path", ["/", "/v2.1/", "/v2.1/servers", "/v2.1/flavors/9", "/v2.1/os-cells", "/v2.1/nowhere"]
)
def test_a_head_is_all_but_the_body(client, path):
    head, whole = client.ask("HEAD", path), client.get(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    named = {name: value for name, value in whole.headers.items() if "request-id" not in name}
    assert named.items() <= dict(head.headers).items()


def test_whatever_can_be_read_has_a_head(client):
    for path in sorted({route.path for route in ROUTES if route.method == "GET"}):
        answer = client.ask("HEAD", re.sub("[{}]", "", path))
        assert answer.status_code not in (405, 500), path


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_balancers_are_answered_without_a_host_or_token(client, method):
    plain = falcon.testing.TestClient(client.app)
    answer = plain.simulate_request(method, "/", http_version="1.0")
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "path", ["/v2.1/flavors/", "/v2.1//flavors", "//v2.1/ops//flavors//", "/v2//flavors"]
)
def test_slashes_more_than_one_change_nothing(client, path):
    assert client.get(path).json == client.get("/v2.1/flavors").json


@pytest.mark.parametrize("root", ["/v2.1", "/v2"])
@pytest.mark.parametrize("path", ["", "/", "//", "/project", "/project/"])
def test_the_roots_of_a_version_tell_it(client, root, path):
    version = client.get(root + path, token=ALICE).json["version"]
    assert version["links"][0]["href"].endswith(f"{root}/")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("project/flavors/1", 200),
        ("another/servers/detail", 400),
        ("project/moons", 404),
        ("another/", 404),
    ],
)
def test_the_project_may_be_in_the_path_and_must_be_the_callers(client, path, status):
    assert client.get(f"/v2.1/{path}", token=ALICE).status_code == status


def test_options_tell_which_methods_there_are(client):
    assert "GET" in client.ask("OPTIONS", "/v2.1/flavors").headers["allow"]


def test_every_answer_is_named(client):
    ids = {client.get(path).headers["x-openstack-request-id"] for path in ("/", "/v2.1/nowhere")}
    assert len(ids) == 2
    assert all(_REQUEST_ID.fullmatch(one) for one in ids)


def test_every_answer_of_compute_tells_its_version(client):
    for path in ("/v2.1/flavors", "/v2.1/nowhere"):
        headers = client.get(path, version="2.47").headers
        assert headers["OpenStack-API-Version"] == "compute 2.47"
        assert headers["X-OpenStack-Nova-API-Version"] == "2.47"
        assert headers["Vary"] == "OpenStack-API-Version, X-OpenStack-Nova-API-Version"


def test_a_version_that_is_not_offered_is_refused_with_the_range(client):
    answer = client.get("/v2.1/flavors", version="2.999")
    assert answer.status_code == 406
    assert "Minimum is 2.1 and maximum is 2.104" in answer.json["computeFault"]["message"]


def test_a_malformed_version_is_a_bad_request(client):
    assert client.get("/v2.1/flavors", version="two").json["badRequest"]["code"] == 400


def test_a_body_of_another_kind_is_told_so(client):
    answer = client.ask(
        "POST", "/v2.1/flavors", body="<flavor/>", headers={"Content-Type": "application/xml"}
    )
    assert answer.json["badMediaType"]["code"] == 415


def test_a_body_that_is_too_large_is_not_read(client):
    answer = client.ask("POST", "/v2.1/flavors", body=b" " * 114689)
    assert answer.json["overLimit"]["code"] == 413


def test_the_table_of_routes_refuses_before_it_looks_at_the_body(client):
    answer = client.post("/v2.1/flavors", {}, token=ALICE)
    assert answer.json["forbidden"]["code"] == 403


def test_an_accident_tells_the_request_id_and_nothing_else(world):
    world.scheduler.all_hosts = None  # a promise of our own code is broken
    with log_lines.recorded() as lines:
        answer = world.client.get("/v2.1/os-availability-zone")
    request_id = answer.headers["x-openstack-request-id"]
    assert answer.json == {
        "computeFault": {
            "code": 500,
            "message": f"Unexpected API error. The request's id is {request_id}.",
        }
    }
    assert [line.request_id for line in lines] == [request_id]


def test_a_part_that_is_away_is_told_without_its_address(world):
    world.scheduler.away = True
    answer = world.client.get("/v2.1/os-availability-zone")
    assert answer.json["serviceUnavailable"]["code"] == 503
    assert "scheduler" not in answer.text
    assert int(answer.headers["Retry-After"]) > 0


def test_the_version_documents_lead_from_the_root_to_the_range(client):
    (_, root) = client.get("/").json["versions"]
    path = root["links"][0]["href"].removeprefix("http://falconframework.org")
    version = client.get(path).json["version"]
    assert (version["min_version"], version["version"]) == ("2.1", "2.104")
    assert version["status"] == "CURRENT"


@pytest.mark.parametrize("path", ["/image", "/image/v2/", "/network/"])
def test_image_and_network_have_version_documents(client, path):
    assert client.get(path).json["versions"][0]["status"] == "CURRENT"


def test_links_begin_where_clients_come_from(client):
    answer = client.get("/v2.1/flavors/1", headers={"Host": "cloud.example:8774"})
    href = answer.json["flavor"]["links"][0]["href"]
    assert href == "http://cloud.example:8774/v2.1/flavors/1"


def test_who_brings_no_token_is_the_administrator(client):
    plain = falcon.testing.TestClient(client.app)
    assert plain.simulate_get("/v2.1/os-services").status_code == 200


@pytest.mark.parametrize(
    ("token", "status"),
    [("admin:x", 200), ("x:admin", 200), ("notused", 200), ("alice:project", 403), ("bob", 403)],
)
def test_the_token_says_who_is_an_administrator(client, token, status):
    assert client.get("/v2.1/os-services", token=token).status_code == status


def test_the_name_that_a_calling_service_gave_goes_on(world):
    seen = []
    world.scheduler.all_hosts = lambda context: seen.append(context) or iter(())
    name = "req-" + "a" * 8 + "-1111-4111-8111-" + "b" * 12
    world.client.get("/v2.1/os-availability-zone", headers={"X-OpenStack-Request-ID": name})
    assert seen[0].global_request_id == name


def test_every_kind_of_failure_has_a_status_of_its_own_or_is_an_accident():
    from roost.api import faults

    assert faults.status_of(exception.QuotaExceeded()) == 403
    assert faults.status_of(exception.NoValidHost()) == 409
    assert faults.status_of(exception.Timeout()) == 504
    assert faults.status_of(exception.Internal()) == 500
