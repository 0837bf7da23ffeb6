"""Nothing that one machine's wall clock says is compared with what another's says.

Machines' clocks differ by minutes. Who shares a database goes by its clock (``Database.now``,
``roost.db.clock``); what is waited for in one process, by ``time.monotonic``; what is right until a
moment, by ``roost.clock``; and a message says how many seconds are left. What still reads a wall
clock is listed here, with its reason.
"""

import ast
import pathlib

TOP = pathlib.Path(__file__).parents[2] / "roost"
# What a wall clock is read by: the last two words of a name, or a function of ours.
_READS = {
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime"),
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
    *("timeutils.utcnow", "timeutils.utcnow_ts", "utcnow"),
}
_SHOWN = "is shown to people, in an instance's history or as a fault's time; nobody compares it"
_OWN_FILES = "the ages of this machine's own files, which have its own clock"
ALLOWED = {
    "api/servers/operations.py": _SHOWN,
    "api/compute/keypairs.py": "of certificates, which are checked by clocks of strangers",
    "api/placement/microversions.py": "the date of an answer, which nobody compares",
    "api/servers/actions.py": _SHOWN,
    "cells/cell.py": _SHOWN,
    "compute/collectors.py": "since when a collector does not answer, for operators",
    "cmd/_records.py": _SHOWN,
    "compute/bounded_folder.py": _OWN_FILES,
    "compute/image_cache.py": _OWN_FILES,
    "compute/operations/rebuild.py": "says the guest is there; the row gets the database's time",
    "compute/resource_tracker.py": "numbers reports of one host, compared among themselves",
    "compute/instance_events.py": _SHOWN,
    "compute/virt/fake/inventory.py": "when a pretended host was started, for people",
    "compute/virt/libvirt/driver.py": _OWN_FILES,
    "conductor/super/boot.py": _SHOWN,
    "conductor/super/boot_service.py": _SHOWN,
    "conductor/failures.py": _SHOWN,
    "conductor/cell/guest_reports.py": _SHOWN,
    "conductor/cell/operations/builds.py": _SHOWN,
    "conductor/cell/operations/confirmations.py": _SHOWN,
    "conductor/cell/operations/offloads.py": _SHOWN,
    "conductor/cell/operations/reports.py": _SHOWN,
    "conductor/super/purge.py": "names a file after the day",
    "db/types.py": "what the others are made of",
    "image/local.py": "the time of what is shown, and the ages of its own files",
    "image/signatures.py": "whether certificates are of today, which strangers' clocks wrote",
    "rig/health.py": "the rig's daemons and databases are on one machine",
}


def reads(tree):
    """Return the names by which a module reads a wall clock, called or handed on."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            base = node.value
            before = getattr(base, "attr", None) or getattr(base, "id", "")
            found.add(f"{before}.{node.attr}")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.module in ("time", "oslo_utils.timeutils"):
            found |= {f"{node.module.rpartition('.')[2]}.{alias.name}" for alias in node.names}
    return found & _READS


def test_what_reads_is_seen():
    def seen(text):
        return reads(ast.parse(text))

    assert seen("import time\nx = time.time() + 5") == {"time.time"}
    assert seen("def f(clock=time.time): ...") == {"time.time"}
    assert seen("from time import time") == {"time.time"}
    assert seen("datetime.datetime.now(datetime.UTC)") == {"datetime.now"}
    assert seen("f(now=utcnow)") == {"utcnow"}
    assert seen("database.now(); time.monotonic(); clock.now(session)") == set()


def test_whoever_reads_a_wall_clock_is_listed_with_a_reason():
    found = {
        str(path.relative_to(TOP))
        for path in TOP.rglob("*.py")
        if reads(ast.parse(path.read_text()))
    }
    assert found == set(ALLOWED)


def test_no_statement_is_made_by_a_wall_clock():
    assert not any(path.startswith("db/") for path in ALLOWED.keys() - {"db/types.py"})
