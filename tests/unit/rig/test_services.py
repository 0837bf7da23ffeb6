"""What the harness says and asks; that it really starts services is shown in integration."""

import http.server
import json
import signal
import threading

import pytest

from roost import exception
from roost.rig import services
from roost.rig.services.private import Private, PrivateService, ServiceAddress, free_port, program
from roost.rig.services.rabbitmq import Management, RabbitMQ, Rights


class ManagementPlugin(http.server.BaseHTTPRequestHandler):
    """Takes every request and remembers it."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, body))
        self.send_response(self.server.status)
        self.end_headers()
        if self.server.told is not None:
            self.wfile.write(json.dumps(self.server.told).encode())

    do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_):
        pass


@pytest.fixture
def plugin():
    server = http.server.HTTPServer(("127.0.0.1", 0), ManagementPlugin)
    server.asked, server.status, server.told = [], 204, None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def management(plugin):
    broker = plugin.server_port - 10000  # whose plug-in it would be
    return Management(ServiceAddress("127.0.0.1", broker, "guest", "guest"))


def test_a_vhost_is_made_over_http_with_everything_allowed(plugin, management):
    management.create_vhost("a/b", user="guest")

    (made, allowed) = plugin.asked
    assert made[:2] == ("PUT", "/api/vhosts/a%2Fb")
    assert allowed[:2] == ("PUT", "/api/permissions/a%2Fb/guest")
    assert allowed[2].count(b'".*"') == 3


def test_users_and_their_rights_are_made_over_http_in_one_go(plugin, management):
    broker = RabbitMQ(ServiceAddress("127.0.0.1", 1, "guest"), administration=management)
    rights = [Rights("me", "a"), Rights("me", "b", "^x$", "^y$", "^z$", {"b": "^k$"})]

    broker.allow({"me": "pw"}, rights)

    ((command, path, body),) = plugin.asked
    made = json.loads(body)
    assert (command, path) == ("POST", "/api/definitions")
    assert made["users"] == [{"name": "me", "password": "pw", "tags": []}]
    assert made["vhosts"] == [{"name": "a"}, {"name": "b"}]
    allowed = {(each["user"], each["vhost"]): each["read"] for each in made["permissions"]}
    everything = {("guest", "a"): ".*", ("guest", "b"): ".*", ("me", "a"): ".*"}
    assert allowed == {**everything, ("me", "b"): "^z$"}
    (topic,) = made["topic_permissions"]
    assert (topic["exchange"], topic["write"], topic["read"]) == ("b", "^k$", "^$")


def test_a_refusal_over_http_is_told(plugin, management):
    plugin.status = 401

    with pytest.raises(exception.Unavailable, match="401"):
        management.check()


def test_the_newest_version_of_a_program_is_taken(tmp_path):
    for version in ("9", "15", "14"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        (folder / "initdb").touch()

    found = program("initdb", f"{tmp_path}/*/bin", package="postgresql")

    assert found == str(tmp_path / "15" / "bin" / "initdb")


@pytest.mark.parametrize("kind", services.KINDS)
def test_a_service_that_is_not_where_it_is_said_to_be_is_told(kind, monkeypatch):
    monkeypatch.setenv(f"ROOST_TEST_{kind.upper()}", f"x://somebody:secret@127.0.0.1:{free_port()}")

    with pytest.raises(exception.Unavailable, match="does not let us in") as told:
        services.KINDS[kind].find()

    assert "secret" not in told.value.message


class Sleeper(PrivateService):
    """A private service that does nothing, and lets everybody in."""

    def __init__(self, folder):
        super().__init__(
            ServiceAddress("127.0.0.1", 1, "me"), Private("sleeper", folder, account="nobody")
        )
        self.private.make_folder()
        self.private.spawn(["sleep", "600"])

    def check(self):
        pass


@pytest.fixture
def sleeper(tmp_path):
    made = Sleeper(tmp_path)
    yield made
    made.stop()


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_a_private_service_that_was_halted_is_revived_with_what_it_had(sleeper, tmp_path, number):
    kept = sleeper.private.folder / "kept"
    kept.touch()
    (before,) = sleeper.private.pids
    sleeper.halt(number)
    assert sleeper.private.pids == []
    sleeper.revive()
    (after,) = sleeper.private.pids
    assert after != before
    assert kept.exists()
    assert str(after) in (tmp_path / "sleeper.json").read_text()
