"""Daemons load what they need, and workers share what was loaded before they were forked."""

import configparser
import gc
import importlib.metadata
import pathlib
import signal
import subprocess
import sys

import pytest

import roost
from roost import conf
from roost.cmd import _granian, _run

SETUP = configparser.ConfigParser()
SETUP.read(pathlib.Path(roost.__file__).parents[1] / "setup.cfg")


@pytest.fixture(autouse=True)
def as_before():
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    gc.unfreeze()
    yield
    gc.unfreeze()
    for each, handler in handlers.items():
        signal.signal(each, handler)


class Forked(Exception):
    """The moment at which workers would be forked."""


def _fork(*_args, **_more):
    raise Forked


def test_a_daemon_freezes_what_it_has_loaded_before_it_forks(monkeypatch):
    monkeypatch.setattr(_run, "_threaded", _fork)
    with pytest.raises(Forked):
        _run.run(conf.of({}), lambda conf: None, workers=1)
    assert gc.get_freeze_count() > 10_000


def test_the_api_does_so_too(monkeypatch):
    monkeypatch.setattr(_granian.Granian, "serve", _fork)
    with pytest.raises(Forked):
        _granian.run(conf.of({"api": {"port": 0}}), name="roost-api", make_app=lambda: None)
    assert gc.get_freeze_count() > 10_000


def test_no_daemon_loads_what_only_some_deployments_need():
    daemons = ("api", "super_conductor", "cell_conductor", "scheduler", "compute", "metadata")
    modules = ", ".join(f"roost.cmd.{daemon}" for daemon in daemons)
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "roost.cmd.metadata" in loaded
    assert {"alembic", "openstack"} & set(loaded) == set()


def test_no_daemon_needs_what_is_installed_for_the_rig_only():
    scripts = dict(
        line.split(" = ")
        for line in SETUP["options.entry_points"]["console_scripts"].strip().splitlines()
    )
    del scripts["roost-rig"]
    extra = SETUP["options.extras_require"]["rig"].split()
    distributions = {line.partition(">=")[0] for line in extra}
    missing = [
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if distributions.intersection(owners)
    ]
    assert missing
    daemons = ", ".join(target.partition(":")[0] for target in scripts.values())
    script = f"import sys; sys.modules.update(dict.fromkeys({missing})); import {daemons}"
    subprocess.run([sys.executable, "-c", script], check=True)
