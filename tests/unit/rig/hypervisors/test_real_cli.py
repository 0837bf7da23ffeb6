"""What ``roost-rig`` says where real guests cannot be had, before anything is made."""

import os

import pytest
from click.testing import CliRunner

from roost.rig import backing, cli
from roost.rig.hypervisors import needs


@pytest.fixture
def run(tmp_path, monkeypatch):
    def found(**_wanted):
        raise AssertionError("something was made")

    monkeypatch.setattr(backing, "find", found)

    def run(command, *more):
        state = ["--state", str(tmp_path / "rig")]
        done = CliRunner().invoke(cli.main, [command, *state, "--driver", "libvirt", *more])
        assert not (tmp_path / "rig").exists()
        return done.exit_code, done.output.splitlines()

    return run


@pytest.mark.parametrize("command", ["up", "demo"])
def test_who_is_not_root_is_told_in_a_line(run, monkeypatch, command):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, lines = run(command)
    assert (code, len(lines)) == (1, 1)
    assert "run this as root" in lines[0]


def test_what_is_missing_is_told_in_a_line(run, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(needs.check, "__kwdefaults__", needs.check.__kwdefaults__ | NOTHING)
    code, lines = run("up")
    assert (code, len(lines)) == (1, 1)
    for package in ("dnsmasq-base", "libvirt-daemon-system", "nftables", "qemu-system-x86"):
        assert package in lines[0]


NOTHING = {"find": lambda _name: None, "binding": lambda: None}


def test_eventlet_and_one_process_are_refused_with_their_reason(run):
    assert "--concurrency threading" in run("up", "--concurrency", "eventlet")[1][0]
    assert "leave out --embedded" in run("up", "--embedded")[1][0]
