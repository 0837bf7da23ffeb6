"""What ``tools/run_tests.py`` makes of tests that fail, of stages and of parts of the soak."""

import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "run_tests.py"
COUNTING = """
import pathlib
def test_that_fails():
    with pathlib.Path(__file__).with_name("ran").open("a") as ran:
        ran.write("once")
    assert False
"""
WAITING = """
import pathlib, time
def test_that_needs_something():
    until = time.monotonic() + 20
    while not pathlib.Path("made").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert pathlib.Path("made").exists()
"""


@pytest.fixture
def tool(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("run_tests", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "STAGES", {"unit": [*module.PYTEST, "tests/unit"]})
    # its pytest needs none, and some take seconds to load
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    return module


def write(tool, text: str) -> None:
    (tool.ROOT / "tests" / "unit" / "test_it.py").write_text(text)


def test_a_test_that_fails_is_named_and_fails_the_run(tool, capfd):
    write(tool, "def test_bad(): assert False\ndef test_fine(): pass\n")
    assert tool.main([]) == 1
    printed = capfd.readouterr().out
    assert "  FAILED tests/unit/test_it.py::test_bad" in printed.partition("==== summary")[2]
    assert "1 failed, 1 passed" in printed


def test_nothing_runs_twice(tool):
    write(tool, COUNTING)
    assert tool.main([]) == 1
    assert (tool.ROOT / "tests" / "unit" / "ran").read_text() == "once"


def test_what_a_stage_needs_is_begun_beforehand(tool, monkeypatch):
    monkeypatch.setattr(tool, "BEFOREHAND", {"unit": ["touch", "made"], "other": ["touch", "not"]})
    write(tool, WAITING)
    assert tool.main(["unit"]) == 0
    assert not (tool.ROOT / "not").exists()


def test_the_functional_tests_measure_answers_by_what_is_made_for_them_beforehand(tool):
    made = tool.BEFOREHAND["functional"][-1]
    assert tool.environment()["ROOST_SHAPES"] == str(tool.ROOT / made)


def test_what_lives_in_virtual_time_runs_beside_the_others_and_is_told_last(
    tool, monkeypatch, capfd
):
    waits = [tool.sys.executable, "-c", WAITING + "test_that_needs_something(); print('had it')"]
    stages = {"simulated": ["sh", "-c", "touch made; echo ended"], "unit": waits}
    monkeypatch.setattr(tool, "STAGES", stages)
    assert tool.main([]) == 0
    printed = capfd.readouterr().out
    assert printed.index("had it") < printed.index("ended")


def test_modules_of_tests_are_compiled_once(tool, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    write(tool, "def test_fine(): pass\n")
    assert tool.main([]) == 0
    assert [*tool.ROOT.glob("tests/unit/__pycache__/test_it.*.pyc")]


def test_what_cannot_be_collected_fails_the_run(tool):
    write(tool, "import no_such_module\n")
    assert tool.main([]) == 1


def test_a_part_of_the_soak_is_ended_when_its_time_is_over(tool, monkeypatch, capfd):
    endless = [tool.sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(tool, "BEFOREHAND", {"functional": ["true"]})
    monkeypatch.setattr(tool, "SOAK", {"long": (endless, 0.01), "short": (["true"], 1)})
    assert tool.main(["--soak"]) == 1
    printed = capfd.readouterr().out
    assert "long         FAILED" in printed
    assert "short        ok" in printed


def test_one_part_of_the_soak_can_run_alone(tool, monkeypatch, capfd):
    monkeypatch.setattr(tool, "BEFOREHAND", {"functional": ["true"]})
    monkeypatch.setattr(tool, "SOAK", {"one": (["true"], 1), "other": (["false"], 1)})
    assert tool.main(["--soak", "one"]) == 0
    assert "other" not in capfd.readouterr().out


def test_a_part_that_is_not_there_is_told_with_those_that_are(tool, capfd):
    assert tool.main(["--soak", "guest"]) == 2
    assert "no such part: guest; there are chaos, outages" in capfd.readouterr().err
