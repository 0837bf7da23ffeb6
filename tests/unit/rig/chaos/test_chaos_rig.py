"""The rig that is broken, as far as it needs no services."""

import json

from roost.compute.virt.fake import faults as driver_faults
from roost.rig.chaos.arena import FaultsFile


def test_the_rules_of_all_faults_in_force_are_told(tmp_path):
    path = tmp_path / "faults.json"
    file = FaultsFile(path)
    file.add(1, {"step": "spawn", "kind": "final"})
    file.add(2, {"step": "image", "delay": 1.5})
    assert [rule.step for rule in driver_faults.parse(path.read_text())] == ["spawn", "image"]
    file.remove(1)
    file.remove(1)
    assert [rule["step"] for rule in json.loads(path.read_text())] == ["image"]
