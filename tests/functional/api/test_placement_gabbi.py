"""Placement's own tests over HTTP, asked of Roost's Placement; see ``placement_files.py``."""

import dataclasses
import fnmatch
import io
import pathlib
import unittest

import pytest

from roost import conf, exception
from roost.api.app import make_app
from roost.api.placement.microversions import ROOT
from roost.api.policy import Policy
from roost.context import RequestContext
from roost.db.scheduler import models
from roost.scheduler import plugins
from roost.scheduler.client import SchedulerClient
from roost.scheduler.manager import SchedulerManager
from tests.builders import NOW
from tests.functional.api import placement_files
from tests.functional.api.placement_cloud import PlacementCloud
from tests.functional.api.placement_differences import DIFFERENCES

DOCUMENT = pathlib.Path(__file__).parents[3] / "doc/placement_api.rst"
FILES = placement_files.names()


class DirectBus:
    """Hands calls to a scheduler in this process."""

    def __init__(self, manager):
        self._manager = manager

    def client(self, topic, version_cap=None):
        return self

    def prepare(self, **_options):
        return self

    def call(self, context, method, **arguments):
        return getattr(self._manager, method)(context, **arguments)

    def check_replies(self):
        pass


class HeaderAuth:
    """Takes callers for who their headers say, as the tests expect it of their Placement."""

    def process_request(self, req, resp):
        token = req.get_header("X-Auth-Token")
        if token is None and req.path != ROOT:
            raise exception.Unauthenticated("Authentication required")
        user, _, project = (token or "").partition(":")
        roles = req.get_header("X-Roles") or ("admin" if user == "admin" else "")
        req.context.caller = RequestContext(
            user_id=user,
            project_id=req.get_header("X-Project-Id") or project or user,
            roles=roles.split(","),
            system_scope=req.get_header("OpenStack-System-Scope"),
            request_id=req.context.request_id,
        )

    def caller(self, environ):
        return "project"

    identify = caller


class OpenPolicy(Policy):
    """Lets everybody do everything."""

    def allows(self, *_arguments, **_more):
        return True


class TranslatingApp:
    """Passes requests on with our uuids, and does by other means what Roost refuses to write.

    Then the body of the answer is what can be read afterwards.
    """

    def __init__(self, app, cloud):
        self._app, self._cloud = app, cloud

    def __call__(self, environ, start_response):
        expected = environ.pop(placement_files.EXPECTED, None)
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        body = environ["wsgi.input"].read()
        status, headers, content = self._ask(environ, path, body)
        if expected:
            path = self._cloud.do(method, path, body)
            headers["location"] = path.encode().decode("latin-1")
            asked = {**environ, "REQUEST_METHOD": "GET", "CONTENT_LENGTH": "0"}
            _, _, content = self._ask(asked, path, b"")
        if "content-length" in headers:
            headers["content-length"] = str(len(content))
        start_response(status, list(headers.items()))
        return [content]

    def _ask(self, environ, path, body):
        environ = {
            **environ,
            "PATH_INFO": f"{ROOT}{self._cloud.ours(path)}".encode().decode("latin-1"),
            "QUERY_STRING": self._cloud.ours(environ["QUERY_STRING"]),
            "wsgi.input": io.BytesIO(body),
        }
        answer = []

        def start(status, headers, exc_info=None):
            answer[:] = status, dict(headers)

        content = self._cloud.theirs(b"".join(self._app(environ, start)).decode())
        return (*answer, content.replace(f'"{ROOT}/', '"/').encode())


class Failures(unittest.TestResult):
    """Keeps the reason of each test that fails, by its name."""

    def __init__(self):
        super().__init__()
        self.reasons = {}

    def addFailure(self, test, error):  # noqa: N802 - unittest calls it
        self.reasons[test.test_data["name"]] = str(error[1])

    addError = addFailure  # noqa: N815


@pytest.fixture
def manager(make_database):
    driver = plugins.load_driver(conf.of({}).scheduler)
    database = make_database("scheduler", models.metadata)
    return SchedulerManager(database, driver=driver, clock=lambda: NOW)


@pytest.fixture
def cloud(world, manager):
    return PlacementCloud(world, manager)


@pytest.fixture
def make(world, manager, cloud):
    """Make Placement's app; where the policy is open, everybody may do everything."""

    def make(*, is_open):
        parts = dataclasses.replace(
            world.parts,
            scheduler=SchedulerClient(DirectBus(manager)),
            authentication=HeaderAuth(),
            policy=OpenPolicy(conf.of({}), []) if is_open else world.parts.policy,
        )
        return TranslatingApp(make_app(parts), cloud)

    return make


def differences(file, names):
    """Return the names of a file's tests that are known to fail."""
    patterns = [one for by_file in DIFFERENCES.values() for one in by_file.get(file, ())]
    found = {one: fnmatch.filter(names, one) for one in patterns}
    assert all(found.values()), found
    return {name for some in found.values() for name in some}


@pytest.mark.parametrize("file", FILES)
def test_placement_answers_as_its_own_tests_expect_except_for_what_is_documented(file, make, cloud):
    contents = placement_files.read(file)
    names = [one["name"] for one in contents["tests"]]
    app = make(is_open="OpenPolicyFixture" in contents["fixtures"])
    with placement_files.set_up(contents["fixtures"], cloud):
        result = Failures()
        placement_files.suite(file, contents, app)(result)
    assert result.testsRun == len(names)
    known = differences(file, names)
    unknown = {name: why for name, why in result.reasons.items() if name not in known}
    assert unknown == {}
    assert known == result.reasons.keys(), "some of DIFFERENCES do not fail any more"


def test_every_difference_has_its_reason_in_the_documentation():
    terms = DOCUMENT.read_text().splitlines()
    assert [reason for reason in DIFFERENCES if reason not in terms] == []
    assert {file for by_file in DIFFERENCES.values() for file in by_file} <= set(FILES)
