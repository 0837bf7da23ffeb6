"""What options name is found among the entry points, or said to be missing."""

import configparser
import pathlib
import sys

import pytest

from roost import exception, plugins
from roost.image.local import LocalImageStore

_SETUP = pathlib.Path(__file__).parents[2] / "setup.cfg"


def test_what_an_option_names_is_found():
    assert plugins.find("roost.image", "local", option="[image] store") is LocalImageStore


def test_a_name_that_no_entry_point_has_is_told_with_its_option():
    with pytest.raises(exception.Invalid, match=r"\[image\] store = moon: no entry point of roost"):
        plugins.find("roost.image", "moon", option="[image] store")


def test_a_library_that_a_plug_in_needs_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "roost.compute.virt.libvirt.driver", None)
    with pytest.raises(exception.Invalid, match=r"virt_driver = libvirt: .* is not installed"):
        plugins.find("roost.compute.virt", "libvirt", option="[compute] virt_driver")


@pytest.mark.parametrize(("module", "extra"), plugins._EXTRAS.items())
def test_what_a_library_will_import_for_an_option_is_named_with_what_installs_it(
    monkeypatch, module, extra
):
    config = configparser.ConfigParser(inline_comment_prefixes=("#",))
    config.read(_SETUP)
    assert extra in config["options.extras_require"]
    monkeypatch.setitem(sys.modules, module, None)
    named = rf"\[x\] y: {module} is not installed: pip install 'roost\[{extra}\]'"
    with pytest.raises(exception.Invalid, match=named):
        plugins.require(module, option="[x] y")
