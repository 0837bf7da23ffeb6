"""Which servers a storm asks for."""

from roost.rig.chaos import wishes
from roost.rig.chaos.wishes import StormRequest


def test_the_same_seed_asks_for_the_same_servers():
    assert wishes.draw(3, minutes=5, per_minute=20) == wishes.draw(3, minutes=5, per_minute=20)
    assert wishes.draw(3, minutes=5, per_minute=20) != wishes.draw(4, minutes=5, per_minute=20)


def test_so_many_servers_are_asked_for_on_average():
    asked = sum(wish.count for wish in wishes.draw(1, minutes=200, per_minute=20))
    assert 3600 < asked < 4400


def test_no_two_servers_have_the_same_name():
    names = [name for wish in wishes.draw(1, minutes=60, per_minute=20) for name in wish.names]
    assert len(names) == len({*names})


def test_every_fate_size_and_policy_comes():
    drawn = wishes.draw(1, minutes=200, per_minute=20)
    assert {wish.fate for wish in drawn} == {"stay", "at once", "while building", "when active"}
    assert {wish.count for wish in drawn} == {1, 2, 3, 5}
    assert {wish.policy for wish in drawn} == {
        "", "affinity", "anti-affinity", "soft-anti-affinity",
    }  # fmt: skip


def test_servers_of_one_request_are_named_as_the_api_names_them():
    assert StormRequest(0, "a", 1, "", "stay", 0).names == ["a"]
    assert StormRequest(0, "a", 3, "", "stay", 0).names == ["a-1", "a-2", "a-3"]
