import pytest

from roost import conf, exception
from roost.scheduler import plugins
from tests.unit.scheduler.host_builders import a_request, a_row, hosts_of


def options(**values):
    return conf.of({"scheduler": values}).scheduler


def multipliers(**values):
    return {each.weigher.name: each.multiplier for each in plugins.load_weighers(options(**values))}


def test_the_default_options_make_a_driver():
    assert plugins.load_driver(options())


def test_what_is_read_of_reports_is_what_the_plug_ins_in_force_read():
    def reads(**values):
        known = options(metrics_weights=["heat", "net=2"], **values)
        return plugins.load_driver(known).engine.reads

    measured = {"metrics.heat", "metrics.net"}
    assert reads() == {"capabilities", "labels"}
    assert reads(filters=["ram"], weighers=["metrics=0"]) == set()
    assert reads(filters=["ram"], weighers=["metrics=-1"]) == measured
    assert reads(filters=["metrics", "json"], weighers=["ram"]) == {"capabilities", *measured}


@pytest.mark.parametrize("more", [(), ("json",)])
def test_a_query_is_heeded_or_refused(more):
    known = options(filters=["enabled", *more])
    decision = plugins.load_driver(known).decide(
        a_request(hints={"query": ['["=", "$vcpus_used", 0]']}), hosts_of(a_row("h1"))
    )
    refused = [] if more else ["hints"]
    assert (len(decision.chosen), [*decision.refusals]) == (len(more), refused)


def test_weighers_come_with_their_multipliers():
    assert multipliers(weighers=["ram=-2.5", "cpu"]) == {"ram": -2.5, "cpu": 1.0}


def test_packing_turns_room_round_and_nothing_else():
    spread, packed = multipliers(profile="spread"), multipliers(profile="pack")
    changed = {name for name, multiplier in spread.items() if packed[name] != multiplier}
    assert changed == {"ram", "cpu", "disk"}
    assert packed["ram"] == -1.0


def test_without_a_profile_room_makes_no_difference():
    found = multipliers(profile="none")
    assert found
    assert found.keys().isdisjoint({"ram", "cpu", "disk"})


def test_named_weighers_win_over_the_profile():
    assert multipliers(profile="pack", weighers=["ram=2"]) == {"ram": 2.0}
    assert multipliers(profile="pack", weighers=[]) == {}


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [
        ("driver", "tarot", "chance, filter"),
        ("filters", ["enabled", "tarot"], "aggregate_extra_specs, aggregate_image_prop"),
        ("weighers", ["tarot=1"], "build_failure, cpu, cross_cell_move, disk"),
    ],
    ids=["driver", "filters", "weighers"],
)
def test_an_unknown_name_is_told_with_its_option_and_what_exists(option, value, known):
    with pytest.raises(exception.Invalid) as caught:
        plugins.load_driver(options(**{option: value}))
    assert f"[scheduler] {option}: there is no tarot; there are {known}" in caught.value.message


def test_a_multiplier_must_be_a_number():
    with pytest.raises(exception.Invalid, match="such as ram="):
        plugins.load_weighers(options(weighers=["ram=much"]))
