"""What users send begins no line of a log, wherever it comes to be in a record."""

import logging
import re
import subprocess
import sys

import pytest

from roost.cmd._records import Records

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


_UNDER_WAY = f"try:\n    raise OSError({_EVIL})\nexcept OSError:\n"
_CAUSED = (
    f"try:\n    raise OSError({_EVIL})\nexcept OSError as error:\n"
    f"    outer = ValueError({_EVIL})\n    outer.__cause__ = error\n"
    "LOG.error('no luck', exc_info=outer)\n"
)
_CODES = {
    "message": f"LOG.warning('%s failed', {_EVIL})\n",
    "under way": _UNDER_WAY + "    LOG.warning('no luck')\n",
    "traceback": _CAUSED,
    "away": _PATH.format(error="__import__('roost').exception.Unavailable(name)"),
    "accident": _PATH.format(error="RuntimeError(name)"),
    "told": (
        "class Full_Remote(Exception): pass\n"
        "try:\n    raise Full_Remote('no room')\n"
        "except Full_Remote as error:\n"
        "    LOG.warning('not built: %s', error)\n    LOG.warning('not built')\n"
    ),
    "repeated": (
        "for what in ('first', 'second'):\n"
        "    for _ in range(3):\n"
        "        try:\n            raise ValueError(what)\n"
        "        except ValueError:\n            LOG.exception('periodic work failed')\n"
        "    LOG.warning(what + ' over')\n"
    ),
}
_NEXT = "= next ="


def _logged(path, code, *options):
    """Run some code in a process that logs as our daemons do, and return the lines of its log."""
    argv = [sys.executable, "-W", "ignore", "-c", _BEGIN + code, str(path), *options]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    text = path.read_bytes().decode()
    assert not {"\r", "\x1b", "\u2028"} & set(text)
    lines = text.removesuffix("\n").split("\n")
    assert not [line for line in lines if line.startswith("ERROR forged")]
    return lines


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """The lines that each code has logged, one after another in one process."""
    code = f"LOG.warning('{_NEXT}')\n".join(_CODES.values())
    parts = [[]]
    for line in _logged(tmp_path_factory.mktemp("log") / "roost.log", code):
        if line.endswith(_NEXT):
            parts.append([])
        else:
            parts[-1].append(line)
    return dict(zip(_CODES, parts, strict=True))


def test_a_message_is_one_line(logged):
    (line,) = logged["message"]
    assert line.endswith(r"/a\nERROR forged\r\x1b[2J\u2028 failed")


def test_an_exception_that_is_under_way_adds_no_line(logged):
    (line,) = logged["under way"]
    assert line.endswith("no luck: OSError: /a")


def test_what_an_exception_says_is_indented_in_a_traceback(logged):
    lines = logged["traceback"]
    assert lines[0].endswith("no luck: ValueError: /a")
    said = [line.partition(" ERROR roost.test ")[2] for line in lines[1:]]
    assert all(said), lines
    assert r"    ERROR forged\r\x1b[2J\u2028" in said
    assert any(line.startswith("OSError: /a") for line in said)
    assert any('  File "<string>"' in line for line in said)


def test_a_path_that_a_user_sends_is_in_one_line(logged):
    (line,) = logged["away"]
    assert r"GET /a\nERROR forged\r\x1b[2J\u2028 answered 503: " in line
    first, *rest = logged["accident"]
    assert r"GET /a\nERROR forged\r\x1b[2J\u2028 failed" in first
    assert rest
    assert all(" ERROR roost.api.faults " in one for one in rest), rest


def test_what_the_message_says_of_an_exception_is_not_said_again(logged):
    told, untold = logged["told"]
    assert told.endswith("[-] not built: no room")
    assert untold.endswith("[-] not built: Full: no room")


def test_an_error_that_repeats_has_one_traceback_and_then_a_line_each(logged):
    lines = logged["repeated"]
    assert sum("Traceback" in line for line in lines) == 1
    again = r"periodic work failed: ValueError: (first|second) \(again: \d times since [\d:]+, "
    first, second = (i for i, line in enumerate(lines) if line.endswith(" over"))
    assert len([line for line in lines[:first] if re.search(again, line)]) == 2
    assert [bool(re.search(again, line)) for line in lines[first + 1 : second]] == [True] * 3


def record(make, error):
    return make("roost", logging.ERROR, __file__, 1, "it failed", (), (type(error), error, None))


def test_an_error_that_goes_on_has_its_traceback_once_a_minute_with_a_count():
    now = [0.0]
    make = Records(lambda: now[0])
    found = []
    for now[0] in (0, 30, 59, 60, 61):
        one = record(make, ValueError("no luck"))
        found.append((bool(one.exc_info), one.getMessage().partition(" since ")[0]))
    assert found == [
        (True, "it failed"),
        (False, "it failed: ValueError: no luck (again: 1 times"),
        (False, "it failed: ValueError: no luck (again: 2 times"),
        (True, "it failed (2 times more"),
        (False, "it failed: ValueError: no luck (again: 1 times"),
    ]


def test_another_error_in_the_same_place_has_a_traceback_of_its_own():
    make = Records()
    assert all(record(make, error).exc_info for error in (ValueError(), OSError()))


def test_logs_in_json_are_a_line_for_each_record(tmp_path):
    code = _UNDER_WAY + "    LOG.exception('no luck')"
    (line,) = _logged(tmp_path / "roost.log", code, "--use-json")
    assert line.startswith("{")
