"""An identity service that knows what it is told, and a service that tells what came to it."""

import datetime
import json
import threading
from wsgiref import simple_server


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        """Say nothing: tests look at what happened."""


class FakeIdentity:
    """Answers as Keystone's third version does, as far as it is asked here.

    Everybody who authenticates gets ``token-of-NAME``. ``people`` has what is known of whom each
    token belongs to; ``asked`` counts how often somebody wanted to know. With a ``failure``, that
    is the status of every answer about tokens.
    """

    def __init__(self):
        self.issued = self.asked = 0
        self.people = {}
        self.failure = None
        self._server = simple_server.make_server("127.0.0.1", 0, self._serve, handler_class=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def catalog(self):
        return [self.service("weather"), self.service("identity", "/v3"), self.service("image")]

    def service(self, kind, path=""):
        endpoints = [
            {"interface": interface, "region": "one", "region_id": "one", "url": self.url + path}
            for interface in ("public", "internal")
        ]
        return {"type": kind, "name": kind, "endpoints": endpoints}

    def knows(self, token, *roles, seconds=3600, **scope):
        """Let a token be somebody's, in the project ``blue`` unless another scope is given."""
        name = token.removeprefix("token-of-")
        domain = {"id": "default", "name": "Default"}
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        self.people[token] = {
            "methods": ["password"],
            "user": {"id": f"{name}-id", "name": name, "domain": domain},
            "roles": [{"id": role, "name": role} for role in roles],
            "expires_at": ends.isoformat().replace("+00:00", "Z"),
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "audit_ids": ["a"],
            "catalog": self.catalog,
            **(scope or {"project": {"id": "blue", "name": "Blue", "domain": domain}}),
        }

    def _serve(self, environ, start_response):
        path, method = environ["PATH_INFO"].rstrip("/"), environ["REQUEST_METHOD"]
        if path == "/v3/auth/tokens":
            return (self._issue if method == "POST" else self._tell)(environ, start_response)
        if path == "/v3":
            links = [{"rel": "self", "href": f"{self.url}/v3/"}]
            version = {"id": "v3.14", "status": "stable", "links": links}
            return _answer(start_response, "200 OK", {"version": version})
        names = {"token": "HTTP_X_AUTH_TOKEN", "service": "HTTP_X_SERVICE_TOKEN"}
        came = {name: environ.get(key) for name, key in names.items()}
        return _answer(start_response, "200 OK", came)

    def _issue(self, environ, start_response):
        self.issued += 1
        asked = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        user = asked["auth"]["identity"]["password"]["user"]["name"]
        token = {"expires_at": "2199-01-01T00:00:00Z", "catalog": self.catalog, "methods": []}
        headers = [("X-Subject-Token", f"token-of-{user}")]
        return _answer(start_response, "201 Created", {"token": token}, *headers)

    def _tell(self, environ, start_response):
        self.asked += 1
        token = environ.get("HTTP_X_SUBJECT_TOKEN")
        if self.failure is not None:
            return _answer(start_response, f"{self.failure} Failure", {"error": {"message": "no"}})
        if token not in self.people:
            return _answer(start_response, "404 Not Found", {"error": {"message": "not known"}})
        body = {"token": self.people[token]}
        return _answer(start_response, "200 OK", body, ("X-Subject-Token", token))


def _answer(start_response, status, body, *headers):
    start_response(status, [("Content-Type", "application/json"), *headers])
    return [json.dumps(body).encode()]
