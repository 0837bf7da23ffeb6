"""The fake driver keeps what is promised of guests that go to other hosts."""

import contextlib
import json

import pytest

from roost.compute.virt.driver import HostResources
from roost.compute.virt.fake.driver import FakeDriver
from roost.compute.virt.fake.faults import Faults
from tests.stories.virt_migrations import *  # noqa: F403

STEP = {"step": "migrate", "delay": 0.2}  # so long each of 16 parts takes: seconds in all


class Hosts:
    """Two hosts of one rig."""

    def __init__(self, folder):
        self.folder = folder
        self._faults = folder / "faults.json"
        self._drivers = {}

    def source(self):
        return self._driver("h1")

    def destination(self):
        return self._driver("h2")

    @contextlib.contextmanager
    def slowed(self):
        with self._trouble(STEP):
            yield

    @contextlib.contextmanager
    def dies(self):
        with self._trouble(STEP | {"kind": "crash"}):
            yield

    @contextlib.contextmanager
    def _trouble(self, rule):
        self._faults.write_text(json.dumps([rule]))
        try:
            yield
        finally:
            self._faults.unlink(missing_ok=True)

    def _driver(self, host):
        if host not in self._drivers:
            resources = HostResources(host, 4, 4096, 40, "fake", 1)
            faults = Faults(self._faults, host=host)
            self._drivers[host] = FakeDriver(resources, folder=self.folder / host, faults=faults)
        return self._drivers[host]


@pytest.fixture
def hosts(tmp_path):
    return Hosts(tmp_path / "state")


@pytest.fixture
def image_path(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(b"tiny")
    return path
