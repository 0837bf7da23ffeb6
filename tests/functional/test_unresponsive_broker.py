"""A broker that takes connections and says nothing, as one behind a network that swallows all."""

import socket
import time

import pytest

from roost import conf, exception
from roost.cells.cell import CallLimits, GuardedBus
from roost.context import admin_context
from roost.rpc import transport
from roost.rpc.compute import Compute


@pytest.fixture
def bus(monkeypatch):
    monkeypatch.setattr(transport, "CAST_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        made = transport.Bus(conf.of({}), f"rabbit://u:p@127.0.0.1:{mute.getsockname()[1]}/cell1")
        yield made
        made.close()


def tell(compute):
    compute.on("h1").refresh_security_groups(admin_context(), project_id="p")


def test_nobody_waits_for_it_to_take_a_message(bus):
    begun = time.monotonic()
    with pytest.raises(exception.Unavailable):
        tell(Compute(bus))
    assert time.monotonic() - begun < 10


def test_the_bus_of_a_cell_is_away_from_then_on(bus):
    guarded = GuardedBus("the bus of cell1", bus, CallLimits(timeout=0.3))
    with pytest.raises(exception.Unavailable) as first:
        tell(Compute(guarded))
    assert not isinstance(first.value, exception.Away)
    with pytest.raises(exception.Away):
        tell(Compute(guarded))
    guarded.close()
