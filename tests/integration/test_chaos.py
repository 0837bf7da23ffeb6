"""A short chaos run on real processes, with a broker and a database of its own."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOST_RIG = str(pathlib.Path(sys.executable).parent / "roost-rig")


@pytest.mark.timeout(400)
def test_nothing_is_lost_doubled_or_leaked_while_things_break(tmp_path):
    state, report = tmp_path / "chaos", tmp_path / "report.json"
    size = ["--cells", "2", "--hosts", "1", "--copies", "1"]
    storm = ["--seed", "9", "--minutes", "0.5", "--faults-per-minute", "6"]
    done = subprocess.run(
        [ROOST_RIG, "chaos", "--state", str(state), *size, *storm, "--json", str(report)],
        capture_output=True,
        text=True,
        timeout=380,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(report.read_text())
    assert told["held"]
    assert sum(told["faults_made"].values()) == 3
    assert told["requests"]["accepted"] > 0
    assert set(told["found"].values()) == {0}
    assert not state.exists()
