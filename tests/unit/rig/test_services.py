"""What the harness says and asks; that it really starts services is shown in integration."""

import http.server
import threading

import pytest

from roost import exception
from roost.rig import services
from roost.rig.services.private import Address, free_port, program
from roost.rig.services.rabbitmq import Management


class ManagementPlugin(http.server.BaseHTTPRequestHandler):
    """Takes every request and remembers it."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, body))
        self.send_response(self.server.status)
        self.end_headers()

    do_GET = do_PUT = do_DELETE = answer  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_):
        pass


@pytest.fixture
def plugin():
    server = http.server.HTTPServer(("127.0.0.1", 0), ManagementPlugin)
    server.asked, server.status = [], 204
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def management(plugin):
    broker = plugin.server_port - 10000  # whose plug-in it would be
    return Management(Address("127.0.0.1", broker, "guest", "guest"))


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


def test_a_refusal_over_http_is_told(plugin, management):
    plugin.status = 401

    with pytest.raises(exception.Unavailable, match="401"):
        management.check()


def test_a_management_interface_that_is_not_there_is_told():
    nobody = Management(Address("127.0.0.1", 1, "guest", "guest"))

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


@pytest.mark.parametrize("kind", services.KINDS)
def test_a_place_without_user_is_refused(kind, monkeypatch):
    monkeypatch.setenv(f"ROOST_TEST_{kind.upper()}", "x://127.0.0.1")

    with pytest.raises(exception.Invalid, match="ROOST_TEST_"):
        services.find(kind)


def test_names_are_unique():
    assert services.unique_name("a") != services.unique_name("a")
