"""What every service group promises, told to a ``world`` that has one.

A world lets daemons speak (``speak``), end (``end``) and be killed and started (``restart``), lets
time pass (``later``), and tells which hosts, or binaries, are up (``up``). DOWN_TIME is in force.
"""

from tests.builders import CELL1, CELL2

DOWN_TIME = 10
CONDUCTOR = "roost-cell-conductor"


def test_a_daemon_that_speaks_is_up(world):
    world.speak("h1")
    world.speak("h2")
    assert world.up() == {"h1", "h2"}


def test_a_daemon_that_falls_silent_is_down_after_the_down_time(world):
    world.speak("h1")
    world.speak("h2")
    world.later(DOWN_TIME - 1)
    assert world.up() == {"h1", "h2"}
    world.speak("h2")
    world.later(2)
    assert world.up() == {"h2"}


def test_a_daemon_that_speaks_again_is_up_again(world):
    world.speak("h1")
    world.later(DOWN_TIME + 1)
    assert world.up() == set()
    world.speak("h1")
    assert world.up() == {"h1"}
    world.later(DOWN_TIME - 1)
    assert world.up() == {"h1"}


def test_a_daemon_that_was_killed_and_started_at_once_stays_up_for_as_long_as_it_speaks(world):
    world.speak("h1")
    world.later(1)
    world.restart("h1")
    world.speak("h1")
    assert world.up() == {"h1"}
    world.later(DOWN_TIME - 1)
    world.speak("h1")
    world.later(DOWN_TIME - 1)
    assert world.up() == {"h1"}
    world.later(2)
    assert world.up() == set()


def test_one_that_was_forced_down_is_down_whatever_it_says(world):
    world.speak("h1")
    world.force_down("h1")
    world.speak("h1")
    assert world.up() == set()
    world.force_down("h1", forced=False)
    assert world.up() == {"h1"}


def test_the_daemons_of_one_host_live_and_die_apart(world):
    world.speak("h1")
    world.speak("h1", binary=CONDUCTOR)
    world.later(DOWN_TIME - 1)
    world.speak("h1", binary=CONDUCTOR)
    world.later(2)
    assert world.up() == set()
    assert world.up(binary=CONDUCTOR) == {"h1"}


def test_daemons_of_the_same_name_in_two_cells_live_and_die_apart(world):
    world.speak("h1", cell=CELL1)
    world.speak("h1", cell=CELL2)
    world.later(DOWN_TIME - 1)
    world.speak("h1", cell=CELL2)
    world.later(2)
    assert world.up(cell=CELL1) == set()
    assert world.up(cell=CELL2) == {"h1"}
