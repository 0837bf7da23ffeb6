"""The page about filters and weighers has them all, and says what is so."""

import pathlib
import re
from importlib import metadata

import pytest

from roost import conf
from roost.conf import filters as filter_options
from roost.scheduler import host_values, plugins

PAGE = (pathlib.Path(__file__).parents[3] / "doc" / "scheduler_plugins.rst").read_text()


def section(title):
    return PAGE.split(f"\n{title}\n---")[1].split("\n---")[0]


def named_in(title):
    """First cells of the table of a section, and what else they hold."""
    return dict(re.findall(r"^   \* - ``(\w+)``(.*)$", section(title), re.MULTILINE))


@pytest.mark.parametrize("title", ["Filters", "Weighers"])
def test_the_table_has_every_plug_in_and_no_other(title):
    points = metadata.entry_points(group=f"roost.scheduler.{title.lower()}")
    assert sorted(named_in(title)) == sorted(points.names)


def test_stars_mark_the_default_list_in_its_order():
    starred = [name for name, rest in named_in("Filters").items() if rest == " *"]
    assert starred == conf.of({}).scheduler.filters


def test_the_multipliers_are_those_of_the_profiles():
    rows = re.findall(r"\* - ``(\w+)``\n     - .*\n     - (.*)\n", section("Weighers"))
    told = {name: text for name, text in rows if text != "none"}
    spread = dict(each.split("=") for each in plugins.weighers_of("spread"))
    packed = dict(each.split("=") for each in plugins.weighers_of("pack"))
    assert told == {
        name: f"{float(spread[name]):g}"
        + ("" if spread[name] == packed[name] else f", {float(packed[name]):g}")
        for name in spread
    }


@pytest.mark.parametrize("option", [option.name for option in filter_options.OPTIONS])
def test_every_option_of_a_plug_in_is_told(option):
    assert option in PAGE


def test_every_value_of_a_host_is_told():
    told = re.findall(r"``(\w+)``", section("What is known of a host"))
    assert sorted(told) == sorted({**host_values.NUMBERS, **host_values.TEXTS})
