"""How long things took once nothing was broken any more."""

from roost.rig.chaos.breaker import Made
from roost.rig.chaos.recovery import measure
from roost.rig.chaos.schedule import Fault
from roost.rig.chaos.watch import StormServer
from roost.rig.chaos.wishes import StormRequest


def made(began, healed):
    return Made(Fault(1, 0, 0, "kill", "api"), began, healed)


def server(asked, settled, **values):
    return StormServer(
        "a", StormRequest(0, "a", 1, "", "stay", 0), asked, settled=settled, **values
    )


def test_a_boot_that_nothing_disturbed_is_not_measured():
    assert measure([server(10, 12)], [made(20, 30)]).count == 0


def test_a_boot_is_measured_from_the_last_healing_before_it_was_done():
    found = measure([server(10, 42)], [made(5, 20), made(15, 40), made(41, 90)])
    assert (found.count, found.max) == (1, 2)


def test_deletes_are_measured_too():
    found = measure([server(1, 2, delete_asked=10, gone=25)], [made(8, 20)])
    assert (found.count, found.max) == (1, 5)
