"""Placement's own tests over HTTP, as its distribution has them: files of gabbi.

Only the files and the setups beside them are used, nothing of the service. Requests that read
are tested as they are. One that writes is refused by Roost, which is all that is tested of it; if
the file expects it to succeed, what it means is done by other means (``placement_cloud.py``).
"""

import contextlib
import copy
import functools
import importlib.metadata
import os
import pathlib
import re
import types
import unittest
from unittest import mock

import yaml
from gabbi import handlers, suitemaker

from roost import exception
from tests.builders import a_uuid

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_ROOM = "placement/tests/functional"
EXPECTED = "HTTP_X_EXPECTED"  # in the environment of requests that the file expects to succeed
_PATHS = "response_json_paths"
_STOPS = frozenset({"405", "406"})  # writes that no Placement takes, either


def _installed(path):
    distribution = importlib.metadata.distribution("openstack-placement")
    return pathlib.Path(str(distribution.locate_file(f"{_ROOM}/{path}")))


def names():
    """Return the names of all files, in order."""
    return sorted(path.stem for path in _installed("gabbits").glob("*.yaml"))


def read(name):
    """Return a file of tests, with requests that write expecting what Roost answers."""
    found = yaml.safe_load(_installed(f"gabbits/{name}.yaml").read_text())
    found["defaults"] = {**found.get("defaults", {}), "cert_validate": False}
    found["tests"] = [_adapted(one) for one in found["tests"]]
    return found


def is_read(test):
    """Return whether a test of a file is one of a request that reads."""
    return _method(test) in _READS


def _method(test):
    return next((key for key in test if key.isupper()), test.get("method", "GET"))


def _adapted(test):
    status = str(test.get("status", 200))
    kept = {name: value for name, value in test.items() if not name.startswith("response_")}
    if is_read(test):
        return {**test, _PATHS: _without_generations(test.get(_PATHS, {}))}
    if status in _STOPS:
        return test
    if status.startswith("2"):
        headers = {**kept.get("request_headers", {}), "x-expected": status}
        return {**kept, "status": 405, "request_headers": headers}
    return {**kept, "status": f"405||{status}"}


def _without_generations(expected):
    return {
        path: value
        for path, value in expected.items()
        if not (path.endswith("generation") and isinstance(value, int))
    }


def suite(name, contents, app):
    """Return a file's tests as a suite of ``unittest``."""
    return suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        name,
        copy.deepcopy(contents),
        str(_installed("gabbits")),
        "placement",
        None,
        None,
        lambda: app,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )


@contextlib.contextmanager
def set_up(fixtures, cloud):
    """Have a cloud set up as Placement's fixtures of these names do it, and their variables."""
    with mock.patch.dict(os.environ):
        for name in fixtures:
            _fixtures(cloud)[name]().start_fixture()
        yield


def _fixtures(cloud):
    """Return the classes of setups, which make things in ``cloud`` rather than in Placement."""
    source = _installed("fixtures/gabbits.py")
    text = source.read_text()
    wanted = ["oslotest", "oslotest.output", "placement", "placement.tests.functional.db"]
    modules = {name: mock.MagicMock() for name in wanted}
    for line in text.splitlines():
        if line.startswith("from placement"):
            modules[line.split()[1]] = mock.MagicMock()
    modules["placement.tests.functional.db"].test_base = _Objects(cloud)
    modules["placement.objects"].user.User = modules["placement.objects"].project.Project = _Owner
    found = types.ModuleType("placement_fixtures")
    with mock.patch.dict("sys.modules", modules):
        exec(compile(text, str(source), "exec"), vars(found))
    found.APIFixture.start_fixture = lambda fixture: _set_variables(fixture, text)
    found.APIFixture.policy_fixture = found.APIFixture.conf_fixture = mock.MagicMock()
    return vars(found)


def _set_variables(fixture, text):
    """Set what all files may name: uuids, and names of resource classes."""
    fixture.context = None
    os.environ.update(re.findall(r"os.environ\['(\w+)'] = '(CUSTOM\w+)'", text))
    for name in re.findall(r"os.environ\['(\w+)'] = uuidutils", text):
        os.environ[name] = a_uuid()


class _Owner:
    """A user or a project."""

    def __init__(self, _context, external_id):
        self.external_id = external_id

    def create(self):
        pass


class _Objects:
    """What Placement's setups call to make things."""

    def __init__(self, cloud):
        self._cloud = cloud

    def create_provider(self, _context, name, *aggregates, **values):
        made = self._cloud.create_provider(name, **values)
        if aggregates:
            self._cloud.set_aggregates(made.uuid, aggregates)
        made.set_aggregates = functools.partial(self._cloud.set_aggregates, made.uuid)
        return made

    def add_inventory(self, provider, resource_class, total, **values):
        one = {resource_class: {"total": total, **values}}
        self._cloud.set_inventories(provider.uuid, provider.inventories | one)

    def set_traits(self, provider, *traits):
        self._cloud.set_traits(provider.uuid, traits)

    def create_user_and_project(self, context, prefix):
        return _Owner(context, f"{prefix}-user"), _Owner(context, f"{prefix}-project")

    def ensure_consumer(self, _context, user, project, consumer_id=None):
        owner = {"project_id": project.external_id, "user_id": user.external_id}
        return types.SimpleNamespace(uuid=consumer_id or a_uuid(), owner=owner)

    def set_allocation(self, _context, provider, consumer, resources):
        with contextlib.suppress(exception.NoValidHost):  # parts have no VCPU to claim
            self._cloud.set_allocations(consumer.uuid, {provider.uuid: resources}, **consumer.owner)
