"""``roost-rig chaos`` as far as nothing breaks: what it would do, and what it refuses."""

import pytest
from click.testing import CliRunner

from roost.rig.cli import main


@pytest.fixture
def chaos(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(main, ["chaos", "--state", str(tmp_path / "chaos"), *arguments])

    yield run
    assert not (tmp_path / "chaos").exists()


def test_a_dry_run_shows_what_a_seed_breaks_and_breaks_nothing(chaos):
    shown = chaos("--dry-run", "--seed", "3", "--minutes", "10")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.count("kill ") > 3
    assert "servers would be asked for in 10 minutes" in shown.stdout
    assert chaos("--dry-run", "--seed", "3", "--minutes", "10").stdout == shown.stdout
    assert chaos("--dry-run", "--seed", "4", "--minutes", "10").stdout != shown.stdout


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--only", "flood"], "there is no fault flood; there are kill"),
        (["--only", "kill", "--without", "kill"], "no kind of fault is left"),
        (["--db", "oracle"], "'oracle' is not one of"),
        (["--minutes", "0"], "0.0 is not in the range"),
        (["--set", "nonsense"], "GROUP.OPTION=VALUE"),
        (["--set", "conductor.max_atempts=1"], "there is no option conductor.max_at"),
    ],
)
def test_what_cannot_be_meant_is_refused(chaos, wrong, told):
    refused = chaos("--dry-run", *wrong)
    assert refused.exit_code != 0
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_folder_in_which_a_rig_lives_is_refused(chaos, tmp_path):
    (tmp_path / "chaos").mkdir()
    note = tmp_path / "chaos" / "rig.json"
    note.touch()
    refused = chaos()
    assert (refused.exit_code, "there is a rig in" in refused.stderr) == (1, True)
    note.unlink()
    (tmp_path / "chaos").rmdir()
