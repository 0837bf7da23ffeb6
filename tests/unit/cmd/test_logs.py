"""What users send begins no line of a log, wherever it comes to be in a record."""

import subprocess
import sys

import pytest

_EVIL = "'/a\\nERROR forged\\r\\x1b[2J\\u2028'"
_BEGIN = """
import logging, sys
from roost.cmd import _options
_options.load("roost-api", ["--log-file", sys.argv[1], *sys.argv[2:]])
LOG = logging.getLogger("roost.test")
"""
_PATH = """
import falcon
from falcon import testing
from roost.api import faults

class Failing:
    def on_get(self, req, resp, name):
        raise {error}

app = faults.App()
app.add_route("/{{name}}", Failing())
faults.install(app)
testing.simulate_get(app, "/a%0aERROR%20forged%0d%1b[2J%e2%80%a8")
"""


@pytest.fixture
def logged(tmp_path):
    """Run some code in a process that logs as our daemons do, and return the lines of its log."""

    def logged(code, *options):
        path = tmp_path / "roost.log"
        argv = [sys.executable, "-W", "ignore", "-c", _BEGIN + code, str(path), *options]
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
        text = path.read_bytes().decode()
        assert not {"\r", "\x1b", "\u2028"} & set(text)
        lines = text.removesuffix("\n").split("\n")
        assert not [line for line in lines if line.startswith("ERROR forged")]
        return lines

    return logged


def test_a_message_is_one_line(logged):
    (line,) = logged(f"LOG.warning('%s failed', {_EVIL})")
    assert line.endswith(r"/a\nERROR forged\r\x1b[2J\u2028 failed")


def test_an_exception_that_is_under_way_adds_no_line(logged):
    code = f"try:\n    raise OSError({_EVIL})\nexcept OSError:\n    LOG.warning('no luck')"
    (line,) = logged(code)
    assert line.endswith("no luck: OSError: /a")


def test_what_an_exception_says_is_indented_in_a_traceback(logged):
    inner = f"try:\n    raise OSError({_EVIL})\nexcept OSError as error:\n"
    outer = inner + f"    outer = ValueError({_EVIL})\n    outer.__cause__ = error\n"
    lines = logged(outer + "LOG.error('no luck', exc_info=outer)")
    assert lines[0].endswith("no luck: ValueError: /a")
    said = [line.partition(" ERROR roost.test ")[2] for line in lines[1:]]
    assert all(said), lines
    assert r"    ERROR forged\r\x1b[2J\u2028" in said
    assert any(line.startswith("OSError: /a") for line in said)
    assert any('  File "<string>"' in line for line in said)


def test_a_path_that_a_user_sends_is_in_one_line(logged):
    (line,) = logged(_PATH.format(error="__import__('roost').exception.Unavailable(name)"))
    assert r"GET /a\nERROR forged\r\x1b[2J\u2028: " in line
    lines = logged(_PATH.format(error="RuntimeError(name)"))
    assert r"GET /a\nERROR forged\r\x1b[2J\u2028 failed" in lines[1]
    assert all(" ERROR roost.api.faults " in one for one in lines[1:]), lines


def test_logs_in_json_are_a_line_for_each_record(logged):
    code = f"try:\n    raise OSError({_EVIL})\nexcept OSError:\n    LOG.exception('no luck')"
    (line,) = logged(code, "--use-json")
    assert line.startswith("{")
