"""Trouble on demand, from a file."""

import json
import os

import pytest

from roost import exception
from roost.compute.virt.fake.faults import Crash, Faults


class File:
    """A faults file, and what a host makes of it."""

    def __init__(self, path):
        self.path = path
        self.slept = []
        self.chance = 0.5
        self.faults = Faults(path, host="h1", sleep=self.slept.append, chance=lambda: self.chance)
        self._time = 0

    def write(self, content):
        text = content if isinstance(content, str) else json.dumps(content)
        self.path.write_text(text)
        self._time += 1
        os.utime(self.path, (self._time, self._time))

    def strike(self, step="spawn"):
        self.faults.strike(step)


@pytest.fixture
def file(tmp_path):
    return File(tmp_path / "faults.json")


def test_without_a_file_nothing_happens(file):
    file.strike()
    Faults(None, host="h1").strike("spawn")


@pytest.mark.parametrize(("kind", "reschedulable"), [("reschedulable", True), ("final", False)])
def test_a_rule_fails_its_step_in_its_kind(file, kind, reschedulable):
    file.write([{"step": "spawn", "kind": kind, "message": "no luck"}])
    with pytest.raises(exception.BuildFailed, match="spawn: no luck") as failed:
        file.strike()
    assert failed.value.reschedulable is reschedulable


@pytest.mark.parametrize(
    "elsewhere", [{"step": "destroy"}, {"step": "spawn", "host": "h2"}, {"step": "*", "rate": 0}]
)
def test_a_rule_that_does_not_fit_does_nothing(file, elsewhere):
    file.write([elsewhere | {"kind": "crash"}])
    file.strike()


def test_a_change_of_the_file_counts_at_once(file):
    file.write([])
    file.strike()
    file.write([{"step": "spawn", "kind": "crash"}])
    with pytest.raises(Crash):
        file.strike()
    file.path.unlink()
    file.strike()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[{", "Expecting"),
        ({"step": "spawn"}, "it must be a list of rules"),
        ([7], "rule 1: it must be an object"),
        ([{"kind": "crash"}], "rule 1: it names no step"),
        ([{"step": "spawn"}, {"step": "dance"}], "rule 2: step must be"),
        ([{"step": "spawn", "speed": 1}], "rule 1: unknown keys speed"),
        ([{"step": "spawn", "kind": "soft"}], "rule 1: kind must be"),
        ([{"step": "spawn", "rate": 2}], "rule 1: rate must be"),
        ([{"step": "spawn", "rate": True}], "rule 1: rate must be"),
        ([{"step": "spawn", "delay": -1}], "rule 1: delay must be"),
        ([{"step": "spawn", "host": 1}], "rule 1: host must be"),
        ([{"step": ["spawn"]}], "rule 1: step must be"),
    ],
)
def test_a_bad_file_is_logged_once_and_changes_nothing(file, caplog, content, why):
    file.write([{"step": "spawn", "kind": "crash"}])
    with pytest.raises(Crash):
        file.strike()
    file.write(content)
    for _ in range(2):
        with pytest.raises(Crash):
            file.strike()
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert why in errors[0].getMessage()
    assert str(file.path) in errors[0].getMessage()
