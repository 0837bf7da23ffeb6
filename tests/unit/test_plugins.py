"""What options name is found among the entry points, or said to be missing."""

import sys

import pytest

from roost import exception, plugins
from roost.image.local import LocalImageStore


def test_what_an_option_names_is_found():
    assert plugins.find("roost.image", "local", option="[image] store") is LocalImageStore


def test_a_name_that_no_entry_point_has_is_told_with_its_option():
    with pytest.raises(exception.Invalid, match=r"\[image\] store = moon: no entry point of roost"):
        plugins.find("roost.image", "moon", option="[image] store")


def test_a_library_that_a_plug_in_needs_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "roost.compute.virt.libvirt.driver", None)
    with pytest.raises(exception.Invalid, match=r"it needs .*, which is not installed"):
        plugins.find("roost.compute.virt", "libvirt", option="[compute] virt_driver")
