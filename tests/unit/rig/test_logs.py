"""The daemons' logs."""

import itertools

import pytest

from roost.rig import logs
from roost.rig.plan import new_plan


@pytest.fixture
def plan(tmp_path):
    plan = new_plan(tmp_path, cells=1, hosts=1)
    plan.save()
    plan.log_file("api").write_text("a1\na2\na3\n")
    plan.log_file("scheduler").write_text("s1\n")
    return plan


def test_lines_of_many_logs_say_whose_they_are(plan):
    assert list(logs.tail(plan, None, lines=1, follow=False)) == ["api        a3", "scheduler  s1"]


def test_new_lines_follow(plan):
    lines = logs.tail(plan, "api", lines=1, follow=True)
    assert next(lines) == "a3"
    with plan.log_file("api").open("a") as log:
        log.write("a4\na5\n")
    assert list(itertools.islice(lines, 2)) == ["a4", "a5"]
