"""Choosing threads or eventlet happens once per process, so each test has its own."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def run():
    """Run lines of Python in a process of their own; return what they print last."""

    def run(*lines, arguments=(), environment=None):
        known = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", "\n".join(lines), *arguments],
            env={**known, **(environment or {})},
            capture_output=True,
            text=True,
        )
        return (ran.stdout or ran.stderr).strip().splitlines()[-1]

    return run


SELECT = "from roost import concurrency; print(concurrency.select())"


@pytest.fixture
def config(tmp_path):
    config = tmp_path / "roost.conf"
    config.write_text("[DEFAULT]\nconcurrency = eventlet\n[api]\nport = 1\n")
    return config


def test_threads_are_the_default(run):
    assert run(SELECT) == "threading"


def test_threads_load_no_resolver_of_names_and_children_are_told_nothing(run):
    told = "print('dns' in sys.modules, os.environ.get('EVENTLET_NO_GREENDNS'))"
    assert run("import os, sys", SELECT, told) == "False None"
    before = {"EVENTLET_NO_GREENDNS": "no"}
    assert run("import os, sys", SELECT, told, environment=before) == "False no"


@pytest.mark.parametrize("form", [["--config-file={}"], ["--config-file", "{}"]])
def test_a_configuration_file_chooses(run, config, form):
    assert run(SELECT, arguments=[word.format(config) for word in form]) == "eventlet"


def test_a_folder_of_configuration_files_chooses(run, config):
    assert run(SELECT, arguments=["--config-dir", str(config.parent)]) == "eventlet"


def test_the_environment_overrules_the_files(run, config):
    chosen = run(
        SELECT,
        arguments=["--config-file", str(config)],
        environment={"OS_DEFAULT__CONCURRENCY": "threading"},
    )
    assert chosen == "threading"


def test_who_asks_later_without_a_wish_gets_what_was_chosen(run):
    first = "from roost import concurrency; concurrency.select([], mode='eventlet')"
    assert run(first, SELECT) == "eventlet"


def test_another_wish_later_is_refused(run):
    first = "from roost import concurrency; concurrency.select([], mode='threading')"
    said = run(first, "concurrency.select([], mode='eventlet')")
    assert "concurrency is threading already, cannot become eventlet" in said


def test_eventlet_is_refused_when_it_comes_too_late(run):
    said = run(
        "import sqlalchemy",
        "from roost import concurrency",
        "concurrency.select([], mode='eventlet')",
    )
    assert "too late to choose eventlet, loaded already: sqlalchemy" in said


def test_an_unknown_choice_is_refused(run):
    said = run("from roost import concurrency; concurrency.select([], mode='fibers')")
    assert "must be threading or eventlet, not 'fibers'" in said


@pytest.mark.parametrize("text", ["[DEFAULT]\nconcurrency = fibers\n", "no file of options\n"])
def test_what_a_file_has_wrong_is_left_to_those_who_can_tell_it(run, config, text):
    config.write_text(text)
    assert run(SELECT, arguments=["--config-file", str(config)]) == "threading"


@pytest.mark.parametrize("text", ["[DEFAULT]\nconcurrency = fibers\n", "no file of options\n"])
def test_a_daemon_tells_what_is_wrong_in_its_file_in_a_line(config, text):
    config.write_text(text)
    main = "from roost.cmd.scheduler import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", main, "--config-file", str(config)], capture_output=True, text=True
    )
    assert ran.returncode == 78
    assert ran.stderr.startswith("roost-scheduler: ")
    assert str(config) in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("mode", ["threading", "eventlet"])
def test_its_executor_does_work_in_both(run, mode):
    lines = [
        f"from roost import concurrency; concurrency.select([], mode='{mode}')",
        "print(concurrency.executor(2).submit(lambda: 6 * 7).result())",
    ]
    assert run(*lines) == "42"
