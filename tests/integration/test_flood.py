"""One project floods the API, in each way of doing many things at once: others do not notice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from roost import migrations
from roost.db.engine import Database
from tests.fakes.processes import DaemonProcess

FLOODERS, EACH = 24, 8


@pytest.fixture
def api(tmp_path, mode, port, rabbitmq_url, mariadb_url):
    """An API with six places, of which a project may have three; where it is."""
    database = Database(mariadb_url)
    migrations.sync(database, "api")
    database.close()
    lines = [f"[DEFAULT]\nconcurrency = {mode}\nhost = here\ntransport_url = {rabbitmq_url}"]
    lines += [f"[api]\nport = {port}\nauth_strategy = noauth\nthreads = 2\nmax_waiting = 4"]
    lines += [f"project_share = 0.5\n[api_database]\nconnection = {mariadb_url}"]
    path = tmp_path / "roost.conf"
    path.write_text("\n".join(lines))
    daemon = DaemonProcess("roost-api", path, tmp_path / "api.log")
    daemon.manager.wait_for("READY=1")
    yield f"http://127.0.0.1:{port}/v2.1"
    daemon.end()


def ask(api, project, times):
    """List servers again and again; return the answers."""
    with requests.Session() as session:
        session.headers["X-Auth-Token"] = f"{project}:{project}"
        return [session.get(f"{api}/servers/detail", timeout=60) for _ in range(times)]


def test_a_flood_of_one_project_is_refused_and_nobody_elses_requests(api):
    with ThreadPoolExecutor(FLOODERS) as crowd:
        flood = [crowd.submit(ask, api, "flood", EACH) for _ in range(FLOODERS)]
        others = [answer.status_code for answer in ask(api, "good", 8)]
        answers = [answer for one in flood for answer in one.result()]
    assert others == [200] * 8
    assert {answer.status_code for answer in answers} == {200, 429}
    assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 429)
