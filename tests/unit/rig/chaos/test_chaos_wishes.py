"""Which servers a storm asks for."""

from roost.rig.chaos import wishes


def test_the_same_seed_asks_for_the_same_servers():
    assert wishes.draw(3, minutes=5, per_minute=20) == wishes.draw(3, minutes=5, per_minute=20)
    assert wishes.draw(3, minutes=5, per_minute=20) != wishes.draw(4, minutes=5, per_minute=20)


def test_every_fate_size_and_policy_comes():
    drawn = wishes.draw(1, minutes=200, per_minute=20)
    assert {wish.fate for wish in drawn} == {"stay", "at once", "while building", "when active"}
    assert {wish.count for wish in drawn} == {1, 2, 3, 5}
    assert {wish.policy for wish in drawn} == {
        "", "affinity", "anti-affinity", "soft-anti-affinity",
    }  # fmt: skip
