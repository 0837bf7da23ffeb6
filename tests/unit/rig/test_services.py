"""What the harness says and asks; that it really starts services is shown in integration."""

import http.server
import json
import pathlib
import signal
import threading

import pytest

from roost import exception
from roost.rig import services
from roost.rig.services.private import Private, PrivateService, ServiceAddress, free_port, program
from roost.rig.services.rabbitmq import Management, Queue, RabbitMQ, Rights


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


def test_a_vhost_is_removed_over_http(plugin, management):
    management.delete_vhost("x")

    assert [request[:2] for request in plugin.asked] == [("DELETE", "/api/vhosts/x")]


def test_a_vhost_that_is_gone_may_be_removed_again(plugin, management):
    plugin.status = 404

    management.delete_vhost("x")


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


def test_users_that_are_gone_may_be_removed_again(plugin, management):
    plugin.status = 404

    management.delete_users(["a", "b/c"])

    asked = [request[:2] for request in plugin.asked]
    assert asked == [("DELETE", "/api/users/a"), ("DELETE", "/api/users/b%2Fc")]


def test_a_refusal_over_http_is_told(plugin, management):
    plugin.status = 401

    with pytest.raises(exception.Unavailable, match="401"):
        management.check()


def test_a_management_interface_that_is_not_there_is_told():
    nobody = Management(ServiceAddress("127.0.0.1", 1, "guest", "guest"))

    with pytest.raises(exception.Unavailable, match="does not answer"):
        nobody.check()


def test_a_program_that_is_not_installed_names_its_package():
    with pytest.raises(exception.Unavailable, match="apt-get install some-package"):
        program("no-such-program", "/nowhere/*", package="some-package")


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
        services.find(kind)

    assert "secret" not in told.value.message


@pytest.mark.parametrize(
    ("kind", "place"),
    [(kind, "x://" if kind == "redis" else "x://127.0.0.1") for kind in services.KINDS],
)
def test_a_place_without_user_or_host_is_refused(kind, place, monkeypatch):
    monkeypatch.setenv(f"ROOST_TEST_{kind.upper()}", place)

    with pytest.raises(exception.Invalid, match="ROOST_TEST_"):
        services.find(kind)


def test_names_are_unique():
    assert services.unique_name("a") != services.unique_name("a")


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


def test_a_service_of_others_is_not_halted():
    with pytest.raises(exception.Invalid, match="left alone"):
        PrivateService(ServiceAddress("127.0.0.1", 1, "me")).halt()


def test_what_another_process_started_is_not_revived(sleeper, tmp_path):
    again = Private("sleeper", tmp_path, account="nobody")
    assert again.running()
    with pytest.raises(exception.Invalid, match="by another process"):
        again.revive()


def test_a_free_port_is_none_that_outgoing_connections_get():
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(free_port() < lowest for _ in range(20))


def test_queues_are_told_over_http(plugin, management):
    plugin.status = 200
    plugin.told = [{"name": "q", "messages": 3, "consumers": 1}, {"name": "new"}]
    assert management.list_queues("a/b") == [Queue("q", 3, 1), Queue("new", 0, 0)]
    assert plugin.asked[-1][:2] == ("GET", "/api/queues/a%2Fb")
