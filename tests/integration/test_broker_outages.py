"""A broker that breaks in various ways, and the daemons on it: all RPC works again by itself."""

import contextlib
import pathlib
import tempfile
import threading
import time

import pytest

from roost import exception
from roost.context import admin_context
from tests.fakes import broker_pair as scenes
from tests.fakes.broker_pair import Probe, Scene

pytestmark = pytest.mark.timeout(300)
PATIENCE = 60  # seconds, for machines that are slow


@pytest.fixture(scope="module")
def scene():
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(pathlib.Path(folder), echo=0.5)
        yield scene
        scene.close()


@pytest.fixture(autouse=True)
def healthy(scene):
    wait_until_all_works(scene)


def wait_until_all_works(scene):
    """Wait until calls and casts arrive, and answers too, in either direction."""
    number = int(time.monotonic() * 1000) * 1000
    for sender, other, kind in scene.directions:
        deadline = time.monotonic() + PATIENCE
        while not scene.works(sender, other, kind, number):
            assert time.monotonic() < deadline, f"no {kind} from {sender.name} arrives"
            number += 1
            time.sleep(0.1)


@pytest.mark.parametrize(
    "happens",
    [
        scenes.kill,
        scenes.delete_queues,
        scenes.delete_vhost,
        scenes.reset,
        scenes.close_connections,
        lambda scene: scenes.cut(scene, seconds=4),
        scenes.strand,
    ],
    ids=["kill", "delete queues", "delete vhost", "reset", "close connections", "cut", "strand"],
)
def test_all_rpc_works_again_whatever_happens_to_the_broker(scene, happens):
    happens(scene)
    wait_until_all_works(scene)


def test_a_server_that_the_broker_forgot_notices_and_is_opened_anew(scene, caplog):
    """Its consumer lives, its queue exists; nothing is led there any more, and nobody is told."""
    scenes.unbind(scene)
    wait_until_all_works(scene)
    assert "probe on the bus 'scene' is reopened" in caplog.text


def test_a_daemon_whose_answers_go_astray_notices_and_opens_another_way(scene, caplog):
    scenes.rob(scene)
    wait_until_all_works(scene)
    assert "the reply queue on the bus 'scene' is reopened" in caplog.text


def test_work_under_way_outlives_that_its_server_is_opened_anew(scene):
    a, b = scene.sides
    answers = []
    call = threading.Thread(
        target=lambda: answers.append(
            Probe(a.bus).on("b").ask(admin_context(), number=7, seconds=3)
        )
    )
    call.start()
    assert b.manager.began.wait(PATIENCE)
    b.server._reopen()
    call.join(PATIENCE)
    assert answers == [7]


def test_a_bus_that_is_known_to_be_away_keeps_nobody_waiting(scene):
    a, _ = scene.sides
    scene.way.close()
    try:
        with contextlib.suppress(exception.Unavailable):
            Probe(a.bus).on("b").tell(admin_context(), number=1)  # this one finds out
        assert a.bus._breaker.is_open
        for kind in ("tell", "ask"):
            with pytest.raises(exception.Unavailable, match="is unavailable"):
                getattr(Probe(a.bus).on("b"), kind)(admin_context(), number=1)
    finally:
        scene.way.open()


def test_a_broker_that_falls_silent_keeps_nobody_waiting_for_long(scene):
    a, _ = scene.sides
    scene.way.silence()
    try:
        with pytest.raises(exception.Unavailable):
            Probe(a.bus).on("b").tell(admin_context(), number=1)
        with pytest.raises(exception.Unavailable, match="is unavailable"):
            Probe(a.bus).on("b").tell(admin_context(), number=1)
    finally:
        scene.way.resume()
