"""What stands around the application, by oslo.middleware: health, CORS, proxies' headers."""

import falcon.testing
import pytest

from roost import conf
from roost.cmd import _wsgi_middleware

ORIGIN = "https://dashboard.example"


def an_application(environ, start_response):
    reached = f"{environ['wsgi.url_scheme']}://{environ['HTTP_HOST']}"
    headers = [("Content-Type", "text/plain"), ("X-Path", environ["PATH_INFO"])]
    start_response("200 OK", [*headers, ("X-Reached", reached)])
    return [b"served"]


def a_client(**values):
    loaded = conf.of({})
    _wsgi_middleware.register(loaded)
    for group, options in values.items():
        for name, value in options.items():
            loaded.set_override(name, value, group=group)
    return falcon.testing.TestClient(_wsgi_middleware.surrounded(loaded, an_application))


@pytest.mark.parametrize("path", ["/healthcheck", "/healthcheck/"])
def test_health_is_told_without_a_token_or_the_application(path):
    answer = a_client().simulate_get(path)
    assert (answer.status_code, answer.headers.get("X-Path")) == (200, None)
    assert a_client().simulate_head(path).status_code == 204


def test_health_is_what_the_backends_of_operators_say(tmp_path):
    file = tmp_path / "down"
    file.touch()
    told = {"backends": ["disable_by_file"], "disable_by_file_path": str(file)}
    answer = a_client(healthcheck=told).simulate_get("/healthcheck")
    assert (answer.status_code, answer.text) == (503, "DISABLED BY FILE")


def test_everything_else_is_the_applications():
    assert a_client().simulate_get("/healthchecks").headers["X-Path"] == "/healthchecks"


def test_browsers_of_an_allowed_origin_may_ask_and_read_our_headers():
    client = a_client(cors={"allowed_origin": [ORIGIN]})
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "X-Auth-Token, OpenStack-API-Version"
    before = client.simulate_options("/v2.1/servers", headers=asked)
    assert before.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "POST" in before.headers["Access-Control-Allow-Methods"]
    answer = client.simulate_get("/v2.1/servers", headers={"Origin": ORIGIN})
    assert "x-openstack-request-id" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("allowed", [{}, {"cors": {"allowed_origin": [ORIGIN]}}])
def test_browsers_of_others_may_not(allowed):
    answer = a_client(**allowed).simulate_get("/", headers={"Origin": "https://other.example"})
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("trusted", [True, False])
def test_a_proxy_says_how_the_api_was_reached_if_operators_trust_it(trusted):
    client = a_client(oslo_middleware={"enable_proxy_headers_parsing": trusted})
    said = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "compute.example"}
    reached = client.simulate_get("/", headers=said).headers["X-Reached"]
    assert reached == ("https://compute.example" if trusted else "http://falconframework.org")
