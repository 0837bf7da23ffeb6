import datetime

import pytest

from roost import conf
from roost.db.scheduler import models
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager
from tests.builders import NOW, a_context, a_report


class Clock:
    """A clock that stands until a test moves it."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += datetime.timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def database(make_database):
    return make_database("scheduler", models.metadata)


@pytest.fixture
def make_manager(database, clock):
    """Make schedulers that share one database."""

    def make(**more):
        driver = plugins.load_driver(conf.of({}).scheduler)
        return SchedulerManager(database, driver=driver, clock=clock, **more)

    return make


@pytest.fixture
def manager(make_manager):
    return make_manager()


@pytest.fixture
def context():
    return a_context()


@pytest.fixture
def report(manager, context):
    """Have hosts report themselves."""

    def report(*hosts, **values):
        for host in hosts:
            manager.update_resource_stats(context, report=a_report(host, **values))

    return report
