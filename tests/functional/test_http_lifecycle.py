"""An API's life in real processes, with native threads and with eventlet."""

import signal
import socket
import time
from concurrent import futures

import psutil
import pytest
import requests

from tests.fakes.processes import DaemonProcess
from tests.parts import second
from tests.stories.cloud import wait_until


@pytest.fixture(params=["threading", second("eventlet")])
def mode(request):
    return request.param


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def start(tmp_path, mode, port):
    started = []

    def start(**options):
        values = "".join(f"{name} = {value}\n" for name, value in options.items())
        config = tmp_path / "roost.conf"
        config.write_text(f"[DEFAULT]\nconcurrency = {mode}\n{values}\n[api]\nport = {port}\n")
        log = tmp_path / "daemon.log"
        started.append(DaemonProcess("tests.functional.hello_api", config, log))
        return started[-1]

    yield start
    for process in started:
        process.end()


@pytest.fixture
def get(port):
    def get(path="/"):
        answer = requests.get(f"http://127.0.0.1:{port}{path}", timeout=20)
        answer.raise_for_status()
        return answer.text.split()

    return get


def test_when_it_says_ready_it_answers_in_the_mode_asked_for(start, get, mode):
    api = start()
    api.manager.wait_for("READY=1")
    assert get()[1] == mode


def test_sigterm_answers_the_request_under_way_and_exits_0(start, get):
    api = start()
    api.manager.wait_for("READY=1")
    with futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(get, "/slow")
        api.wait_for_log("begins slow")
        api.terminate()
        assert answer.result()
    assert api.exit_status() == 0
    assert any("STOPPING=1" in message for message in api.manager.hear())


def test_sighup_answers_the_request_under_way_and_serves_on(start, get):
    api = start()
    api.manager.wait_for("READY=1")
    with futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(get, "/slow")
        api.wait_for_log("begins slow")
        api.send(signal.SIGHUP)
        assert answer.result()
    assert get()
    assert api.running


def test_several_workers_serve_one_port(start, get):
    api = start(workers=2)
    api.manager.wait_for("READY=1")
    assert get()
    assert len(api.workers()) == 2


def test_a_worker_that_dies_is_replaced(start, get):
    api = start(workers=2)
    api.manager.wait_for("READY=1")
    victim, other = (worker.pid for worker in api.workers())
    api.workers()[0].kill()
    served_by = {victim}
    while served_by <= {victim, other}:
        served_by = {worker.pid for worker in api.workers()}
    wait_until(lambda: answers(get), "one of them answers")  # the other may have begun just now


def answers(get):
    try:
        return get()
    except requests.ConnectionError:
        return None


def test_workers_end_with_their_parent_however_that_ends(start, get, port):
    api = start(workers=2)
    api.manager.wait_for("READY=1")
    workers = api.workers()
    api.send(signal.SIGKILL)
    _gone, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_workers_that_still_load_end_with_their_parent(start):
    api = start(workers=2)
    wait_until(lambda: len(api.workers()) == 2, "both workers")
    workers = api.workers()
    api.send(signal.SIGKILL)
    _gone, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []


def test_a_port_that_somebody_has_is_waited_for(start, get, port):
    with socket.create_server(("127.0.0.1", port)):
        api = start()
        deadline = time.monotonic() + 20
        while "in use" not in api.log:
            assert time.monotonic() < deadline, api.log
            time.sleep(0.05)
    api.manager.wait_for("READY=1")
    assert get()
