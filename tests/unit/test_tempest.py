"""What is read from Tempest's output, and what its lists of tests must say."""

from tests.tempest import running
from tests.tempest.cloud import Cloud

OUTPUT = """\
{0} tempest.api.compute.test_a.A.test_good [0.1s] ... ok
{1} tempest.api.compute.test_a.A.test_bad [12.5s] ... FAILED
{1} tempest.api.compute.test_b.B.test_other ... SKIPPED: no volumes here
{0} setUpClass (tempest.api.compute.test_c.C) [0.0s] ... FAILED
{0} setUpClass (tempest.api.compute.test_d.D) ... SKIPPED: no volumes here
Ran: 5 tests in 13.0 sec.
 - Failed: 2
"""


def results(output):
    read = running.Results()
    for line in output.splitlines():
        read.read(line)
    return read


def test_the_summary_names_what_failed_classes_that_could_not_begin_too():
    assert list(results(OUTPUT).summary())[-2:] == [
        "  failed: setUpClass (tempest.api.compute.test_c.C)",
        "  failed: tempest.api.compute.test_a.A.test_bad",
    ]


def test_nothing_is_excluded_without_a_reason():
    excluded = running.patterns(running.EXCLUDED)
    assert excluded
    assert [pattern for pattern, reason in excluded.items() if not reason] == []


def test_its_runner_takes_its_own_python_whichever_the_environment_means(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHON", "/another/python")
    program = tmp_path / "venv/bin/tempest"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "tempest.$PYTHON"\n')
    program.chmod(0o755)
    cloud = Cloud(
        identity="",
        password="",
        flavors=["1", "2"],
        images=["1", "2"],
        hosts=1,
        network_extensions=[],
    )
    tempest = running.Tempest(tmp_path, tmp_path, cloud)
    assert tempest.list_tests() == [f"tempest.{program.parent / 'python'}"]
