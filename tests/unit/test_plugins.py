"""What options name is found among the entry points, or said to be missing."""

import pytest

from roost import exception, plugins
from roost.image.local import LocalImageStore


def test_what_an_option_names_is_found():
    assert plugins.find("roost.image", "local", option="[image] store") is LocalImageStore


def test_a_name_that_no_entry_point_has_is_told_with_its_option():
    with pytest.raises(exception.Invalid, match=r"\[image\] store = moon: no entry point of roost"):
        plugins.find("roost.image", "moon", option="[image] store")
