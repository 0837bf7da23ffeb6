"""Stories of requests and answers, told in YAML: ``gabbits/`` has a file per noun or habit."""

import pathlib

import pytest
from gabbi import driver
from gabbi.driver import test_pytest  # noqa: F401 - pytest runs it for each step of each story

from roost.api.dependencies import ApiOptions
from tests import api_harness

_served = {}


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory):
    quota = dict.fromkeys(ApiOptions().quota, -1)
    with api_harness.made_in(tmp_path_factory.mktemp("world"), ApiOptions(quota=quota)) as world:
        _served["app"] = world.client.app
        yield world
        _served.clear()


def _app():
    """Return what serves when the module's world is made: stories are collected before."""

    def serve(environ, start_response):
        return _served["app"](environ, start_response)

    return serve


def pytest_generate_tests(metafunc):
    # gabbi's plugin takes every test with a colon in its name for a story
    metafunc.config.pluginmanager.set_blocked("gabbi.pytester")
    folder = pathlib.Path(__file__).parent / "gabbits"
    driver.py_test_generator(
        str(folder), intercept=_app, test_loader_name=__name__, metafunc=metafunc
    )
