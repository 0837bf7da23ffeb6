import types

import pytest

from roost import conf, exception
from roost.scheduler import plugins


def options(**values):
    return conf.of({"scheduler": values}).scheduler


def test_the_default_options_make_a_driver_that_guards_what_its_filters_promise():
    driver = plugins.load_driver(options())
    assert driver.guards == {"enabled", "memory_mb", "vcpus", "disk_gb"}


def test_who_leaves_a_filter_out_leaves_its_guard_out():
    driver = plugins.load_driver(options(filters=["enabled", "ram"]))
    assert driver.guards == {"enabled", "memory_mb"}


def test_filters_come_in_the_order_they_are_named():
    assert [each.name for each in plugins.load_filters(["ram", "enabled"])] == ["ram", "enabled"]


def test_weighers_come_with_their_multipliers():
    weighings = plugins.load_weighers(["ram=-2.5", "cpu"])
    assert [(each.weigher.name, each.multiplier) for each in weighings] == [
        ("ram", -2.5),
        ("cpu", 1.0),
    ]


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [
        ("driver", "tarot", "filter"),
        ("filters", ["enabled", "tarot"], "availability_zone, cpu, disk, enabled"),
        ("weighers", ["tarot=1"], "cpu, disk, ram"),
    ],
)
def test_an_unknown_name_is_told_with_its_option_and_what_exists(option, value, known):
    with pytest.raises(exception.Invalid) as caught:
        plugins.load_driver(options(**{option: value}))
    assert f"[scheduler] {option}: there is no tarot; there are {known}" in caught.value.message


def test_a_multiplier_must_be_a_number():
    with pytest.raises(exception.Invalid, match="such as ram="):
        plugins.load_weighers(["ram=much"])


def test_plain_values_do_for_options():
    plain = types.SimpleNamespace(driver="filter", filters=[], weighers=[])
    assert plugins.load_driver(plain).guards == frozenset()
