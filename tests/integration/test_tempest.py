"""What clients are used to, as Tempest knows it: those of its tests that take seconds.

``make tempest`` runs them all.
"""

import re

import pytest

from tests.integration.conftest import OUTSIDE
from tests.tempest import running
from tests.tempest.cloud import cloud

pytestmark = pytest.mark.timeout(900)  # the first one may have to install Keystone and Tempest


@pytest.fixture(scope="module")
def tempest(tmp_path_factory):
    running.install(OUTSIDE / "tempest")
    with cloud(OUTSIDE, tmp_path_factory.mktemp("cloud")) as made:
        yield running.Tempest(OUTSIDE / "tempest", tmp_path_factory.mktemp("tempest"), made)


def test_the_habits_of_clients_hold(tempest):
    passed, results = tempest.run("--include-list", running.HABITS, "--concurrency", "2")
    assert passed, "\n".join(results.summary())
    assert results.tests[running.SKIPPED] == []


def test_every_line_of_the_lists_still_means_a_test(tempest):
    tests = tempest.list_tests()
    listed = [*running.patterns(running.EXCLUDED), *running.patterns(running.HABITS)]
    assert [line for line in listed if not any(re.search(line, test) for test in tests)] == []
