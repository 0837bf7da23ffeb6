"""systemd itself judges the units."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
UNITS = sorted((ROOT / "etc/systemd").glob("*.service"))


@pytest.fixture
def check(tmp_path):
    """Check a copy of the units, which a test may spoil first."""
    for part in ("tools", "etc/systemd"):
        shutil.copytree(ROOT / part, tmp_path / part)

    def check():
        programs = pathlib.Path(sys.executable).parent
        return subprocess.run(
            ["sh", str(tmp_path / "tools/check_units.sh")],
            env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    return check


def test_systemd_accepts_the_units(check):
    checked = check()
    assert checked.returncode == 0, checked.stderr
    assert f"units: {len(UNITS)} are fine" in checked.stdout


def test_the_hardening_applies_to_every_unit(check, tmp_path):
    (hardening,) = (tmp_path / "etc/systemd/roost-.service.d").iterdir()
    hardening.write_text("[Service]\nNoSuchKey=yes\n")
    assert check().stderr.count("NoSuchKey") == len(UNITS)


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_waits_for_its_daemon_and_survives_it(unit):
    text = unit.read_text()
    assert "Type=notify\n" in text
    assert "NotifyAccess=all\n" in text
    assert "TimeoutStartSec=infinity\n" in text
    assert "Restart=always\n" in text
