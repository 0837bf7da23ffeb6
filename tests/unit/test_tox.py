"""Environments of tox have what their commands need."""

import configparser
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def _read(name):
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.read(ROOT / name)
    return parsed


TOX = _read("tox.ini")
ENVIRONMENTS = [name for name in TOX.sections() if name.startswith("testenv")]


def _extras(environment):
    said = TOX[environment].get("extras") or TOX["testenv"]["extras"]
    return {one.strip() for one in said.replace("\n", ",").split(",") if one.strip()}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_asks_for_extras_that_there_are(environment):
    assert _extras(environment) <= {*_read("setup.cfg")["options.extras_require"]}


@pytest.mark.parametrize("name", TOX["tox"]["envlist"].split(", "))
def test_what_runs_tests_has_what_they_import(name):
    environment = f"testenv:{name}" if f"testenv:{name}" in TOX else "testenv"
    command = (TOX[environment].get("commands") or TOX["testenv"]["commands"]).replace(
        "{envname}", name
    )
    folder = ROOT / command.split()[-1]
    if not command.startswith("pytest"):
        return
    texts = [path.read_text() for path in folder.rglob("*.py")]
    if any("roost.compute.virt.libvirt" in text for text in texts):
        assert "libvirt" in _extras(environment)
