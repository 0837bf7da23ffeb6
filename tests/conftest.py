"""What every test stands on: how many things are done at once, chosen before all other imports.

Native threads, unless OS_DEFAULT__CONCURRENCY says eventlet.
"""

from roost import concurrency

concurrency.select([])

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.stories")  # what they find wrong is told in full
# How long an example takes says how busy the machine is, not whether what it shows is right.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")

from roost.db.api import models as api_models
from roost.db.cell import identity
from roost.db.cell import models as cell_models
from tests import tables

GARBAGE = (20_000, 20, 20)  # Python's own is (700, 10, 10)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let modules stay together as a whole only where they must."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests import xdist_scheduling

    return xdist_scheduling.Scheduling(config, log)


def pytest_collection_modifyitems(items):
    """Begin with what takes longest, where tests run side by side."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests import xdist_scheduling

        items.sort(key=lambda item: xdist_scheduling.turn(item.nodeid))


def pytest_collection_finish():
    """Look for garbage seldom, and not in what stays: all that was loaded and collected."""
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Let a failure be told: workers send reports as UTF-8, and tests log what is no such text."""
    report = yield
    report.sections = [(name, _as_utf8(text)) for name, text in report.sections]
    told = str(report.longrepr)
    if _as_utf8(told) != told:
        report.longrepr = _as_utf8(told)
    return report


def _as_utf8(text):
    return text.encode(errors="backslashreplace").decode()


def pytest_report_header():
    return f"concurrency: {concurrency.selected()}"


@pytest.fixture
def make_database(tmp_path):
    """Make SQLite databases with the tables of a schema; closed when the test ends."""
    made = []

    def make(name, metadata):
        made.append(tables.make(tmp_path / f"{name}.sqlite", metadata))
        return made[-1]

    yield make
    for database in made:
        database.close()


@pytest.fixture
def api_db(make_database):
    return make_database("api", api_models.metadata)


@pytest.fixture
def cell_db(make_database):
    """The database of a cell that has been mapped."""
    from tests.builders import CELL1

    database = make_database("cell1", cell_models.metadata)
    with database.begin() as session:
        identity.set_identity(session, cell_uuid=CELL1, cell_name="cell1")
    return database
