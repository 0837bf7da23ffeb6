"""What the clients of a storm know of their servers."""

import pytest

from roost.rig.chaos import storm, wishes
from roost.rig.chaos.watch import Register
from roost.rig.chaos.wishes import StormRequest


def wish(**values):
    known = {"at": 0, "name": "a", "count": 1, "policy": "", "fate": "stay", "after": 0}
    return StormRequest(**(known | values))


@pytest.fixture
def register():
    return Register()


def seen(name="a", identity="1", status="ACTIVE", **values):
    return {"id": identity, "name": name, "status": status, **values}


def test_what_a_list_says_is_taken_in(register):
    (server,) = register.ask(wish(), now=1.0)
    register.take_in([seen(status="BUILD")], now=2.0)
    assert (server.state, server.settled, server.under_way) == ("BUILD", None, True)
    register.take_in([seen(**{"OS-EXT-SRV-ATTR:host": "h1"})], now=3.0)
    assert (server.state, server.settled, server.host) == ("ACTIVE", 3.0, "h1")
    assert not server.under_way


def test_servers_that_a_list_lacks_are_told_once_they_were_seen(register):
    (server,) = register.ask(wish(), now=1.0)
    assert register.take_in([], now=2.0) == []
    register.take_in([seen()], now=3.0)
    assert register.take_in([], now=4.0) == [server]
    server.gone = 4.0
    assert register.take_in([], now=5.0) == []


def test_nothing_is_known_of_a_server_whose_cell_does_not_answer(register):
    (server,) = register.ask(wish(), now=1.0)
    register.take_in([seen()], now=2.0)
    register.take_in([seen(status="UNKNOWN")], now=3.0)
    assert server.state == "ACTIVE"


@pytest.mark.parametrize(
    ("fate", "after", "due", "not_due"),
    [
        ("at once", 0, 2.0, 1.9),
        ("while building", 3, 5.0, 4.9),
        ("when active", 4, 14.0, 13.9),
        ("stay", 0, None, 9e9),
    ],
)
def test_a_server_is_deleted_when_it_is_its_fate(register, fate, after, due, not_due):
    (server,) = register.ask(wish(fate=fate, after=after), now=1.0)
    server.answered = 2.0
    register.take_in([seen()], now=10.0)
    assert not server.due(not_due)
    assert due is None or server.due(due)


def test_a_server_that_stays_lives_once_it_is_active_and_is_under_way_meanwhile(register):
    (server,) = register.ask(wish(life=("os-stop", "os-start")), now=1.0)
    assert not server.may_act
    register.take_in([seen()], now=2.0)
    assert server.may_act
    server.acting = True
    assert (server.may_act, server.under_way) == (False, True)
    server.acting, server.acted = False, 3.0
    assert (server.may_act, server.under_way) == (False, False)


def test_all_lives_are_of_actions_that_storms_know():
    drawn = wishes.draw(7, minutes=60, per_minute=60)
    assert {action for one in drawn for action in one.life} == {*storm.ACTIONS}
