"""What groups of a coordination service promise besides, told to a ``world`` whose one can fail.

Heartbeats go on meanwhile: ``up(heard=...)`` names the hosts that were heard of of late.
"""

from roost.servicegroup.tooz import ToozGroup
from tests.builders import CELL1
from tests.stories.service_groups import CONDUCTOR, DOWN_TIME


def test_a_daemon_that_ends_is_down_at_once(world):
    world.speak("h1")
    world.speak("h2")
    world.end("h1")
    assert world.up() == {"h2"}


def test_while_nobody_has_joined_the_heartbeats_tell(world):
    assert world.up(among=("h1", "h2"), heard=("h2",)) == {"h2"}


def test_what_has_lost_its_memory_is_not_believed_until_all_could_join_again(world):
    conductor = world.daemon("c1", binary=CONDUCTOR)
    conductor.beat(CELL1)
    for host in ("h1", "h2"):
        world.speak(host)
    assert world.up(by=conductor) == {"h1", "h2"}

    world.forget()
    assert world.up(by=conductor, heard=("h2",)) == {"h2"}

    conductor.beat(CELL1)
    world.speak("h1")
    assert world.up(by=conductor, heard=("h2",)) == {"h1", "h2"}

    world.seconds += DOWN_TIME
    assert world.up(by=conductor, heard=("h2",)) == {"h1"}


def test_a_loss_of_memory_between_two_looks_is_noticed_too(world):
    conductor = world.daemon("c1", binary=CONDUCTOR)
    conductor.beat(CELL1)
    world.speak("h1")
    assert world.up(by=conductor) == {"h1"}
    world.forget()
    conductor.beat(CELL1)
    assert world.up(by=conductor, heard=("h1",)) == {"h1"}


def test_the_group_of_a_cell_that_is_gone_leaves_nothing_unless_somebody_lives(world):
    world.speak("h1")
    world.speak("h2")
    world.end("h1")
    world.disband()
    assert world.up() == {"h2"}
    world.end("h2")
    assert world.traces() != []
    for _ in range(2):
        world.disband()
        assert world.traces() == []


def test_a_daemon_that_has_ended_speaks_no_more(world):
    world.speak("h1")
    world.speak("h2")
    ended = world.daemon("h1")
    world.end("h1")
    ended.beat(CELL1)
    assert world.up() == {"h2"}


def test_a_service_that_is_away_leaves_it_to_the_heartbeats(world):
    group = ToozGroup(world.nowhere, member=f"{CONDUCTOR}:c1", down_time=DOWN_TIME)
    assert world.up(by=group, among=("h1", "h2"), heard=("h1",)) == {"h1"}
