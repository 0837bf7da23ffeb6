"""Choosing threads or eventlet happens once per process: one forks a child for each."""

import json
import os
import subprocess
import sys

import pytest

SELECT = "from roost import concurrency; print(concurrency.select())"
LOADED = "print('dns' in sys.modules, os.environ.get('EVENTLET_NO_GREENDNS'))"
CHOOSE = "from roost import concurrency; concurrency.select([], mode={!r})"
EXECUTOR = "print(concurrency.executor(2).submit(lambda: 6 * 7).result())"
DAEMON = "from roost.cmd.scheduler import main; main()"
ONE_FILE = ["--config-file", "{good}"]
THREADS = {"OS_DEFAULT__CONCURRENCY": "threading"}
NO_RESOLVER = {"EVENTLET_NO_GREENDNS": "no"}

# What is run, with which arguments and environment, and what it says last.
CASES = {
    "threads are the default": ([SELECT], [], {}, "threading"),
    "threads load no resolver of names": ([SELECT, LOADED], [], {}, "False None"),
    "and what children are told stays": ([SELECT, LOADED], [], NO_RESOLVER, "False no"),
    "a file chooses": ([SELECT], ONE_FILE, {}, "eventlet"),
    "a file after an equals sign": ([SELECT], ["--config-file={good}"], {}, "eventlet"),
    "a folder of files": ([SELECT], ["--config-dir", "{folder}"], {}, "eventlet"),
    "the environment overrules files": ([SELECT], ONE_FILE, THREADS, "threading"),
    "no wish later": ([CHOOSE.format("eventlet"), SELECT], [], {}, "eventlet"),
    "another wish later": (
        [CHOOSE.format("threading"), CHOOSE.format("eventlet")],
        [],
        {},
        "RuntimeError: concurrency is threading already, cannot become eventlet",
    ),
    "eventlet too late": (
        ["import sqlalchemy", CHOOSE.format("eventlet")],
        [],
        {},
        "RuntimeError: too late to choose eventlet, loaded already: sqlalchemy",
    ),
    "an unknown choice": (
        [CHOOSE.format("fibers")],
        [],
        {},
        "RuntimeError: concurrency must be threading or eventlet, not 'fibers'",
    ),
    # who can tell it in better words reads the file soon
    "a wrong file": ([SELECT], ["--config-file", "{wrong}"], {}, "threading"),
    "no file of options": ([SELECT], ["--config-file", "{broken}"], {}, "threading"),
    "an executor of threads": ([CHOOSE.format("threading"), EXECUTOR], [], {}, "42"),
    "an executor of eventlet": ([CHOOSE.format("eventlet"), EXECUTOR], [], {}, "42"),
}
DAEMONS = {name: ([DAEMON], ["--config-file", f"{{{name}}}"], {}) for name in ("wrong", "broken")}
FORKS = """
import json, os, sys, traceback, warnings
warnings.simplefilter("ignore")
children = {}
for name, (lines, arguments, environment) in json.load(sys.stdin).items():
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 0
        os.dup2(write, 1), os.dup2(write, 2), os.close(read)
        os.environ.update(environment)
        sys.argv[1:] = arguments
        try:
            for line in lines:
                exec(line, globals())
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            print(*traceback.format_exception_only(error), flush=True)
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    os.close(write)
    children[name] = child, os.fdopen(read)
told = {}
for name, (child, said) in children.items():
    lines = said.read().strip().splitlines()
    told[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The exit code of each case, and the lines that it has said."""
    folder = tmp_path_factory.mktemp("etc")
    texts = {"good": "concurrency = eventlet\n[api]\nport = 1", "wrong": "concurrency = fibers"}
    texts = {name: f"[DEFAULT]\n{text}\n" for name, text in texts.items()}
    places = {"folder": folder / "roost.d"}
    (folder / "roost.d").mkdir()
    for name, text in (texts | {"broken": "no file of options\n"}).items():
        places[name] = folder / f"{name}.conf"
        places[name].write_text(text)
    (folder / "roost.d" / "good.conf").write_text(texts["good"])
    asked = {
        name: (lines, [word.format(**places) for word in arguments], environment)
        for name, (lines, arguments, environment, *_) in (CASES | DAEMONS).items()
    }
    ran = subprocess.run(
        [sys.executable, "-c", FORKS],
        env={name: value for name, value in os.environ.items() if not name.startswith("OS_")},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", CASES)
def test_a_process_is_of_the_kind_that_was_chosen_for_it(told, name):
    _code, said = told[name]
    assert said[-1] == CASES[name][-1]


@pytest.mark.parametrize("name", DAEMONS)
def test_a_daemon_tells_what_is_wrong_in_its_file_in_a_line(told, name):
    code, said = told[name]
    (line,) = said
    assert code == 78
    assert line.startswith("roost-scheduler: ")
    assert f"{name}.conf" in line
