"""The stories of exact placement on the embedded rig: real HTTP, real RPC, real SQL."""

import json

import pytest
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from tests.functional.embedded import embedded_cloud
from tests.stories.topology_placement import *  # noqa: F403
from tests.stories.topology_placement import ALIASES, INVENTORY, PROVIDERS


@pytest.fixture
def manage(cloud):
    """Run roost-manage, and return its answer."""

    def run(*arguments):
        command = ["--config-file", str(cloud.plan.config_file("manage")), *arguments, "--json"]
        return json.loads(CliRunner().invoke(roost_manage, command).stdout)

    return run


def test_operators_see_inventories_and_traits(cloud, boot, manage):
    cloud.wait(boot({"resources:CUSTOM_LICENSE": "2"}), "ACTIVE")
    found = manage("placement", "inventory", "--host", "cell1-host2")
    by_class = {row["resource_class"]: row for row in found if not row["provider"]}
    assert list(by_class) == ["VCPU", "MEMORY_MB", "DISK_GB", "PCPU", "CUSTOM_LICENSE"]
    assert [
        (row["provider"], row["parent"], row["resource_class"], row["total"], row["overcommitted"])
        for row in found
        if row["provider"]
    ] == [(name, "NUMA0", "VGPU", 1, False) for name in ("gpu0", "gpu1")]
    license_ = by_class["CUSTOM_LICENSE"]
    assert (license_["total"], license_["used"], license_["max_unit"]) == (2, 2, 2)
    assert (by_class["VCPU"]["used"], by_class["MEMORY_MB"]["used"]) == (2, 512)
    (trait,) = [r for r in manage("placement", "traits") if r["trait"] == "CUSTOM_LICENSED"]
    assert trait["host"] == "cell1-host2"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps(INVENTORY))
    (folder / "licences.yaml").write_text(PROVIDERS)
    overrides = {
        "compute": {"provider_config_location": str(folder)},
        "pci": {"alias": json.dumps(ALIASES)},
        "fake_driver": {"inventory_file": str(inventory)},
    }
    with embedded_cloud(folder / "state", cells=1, hosts=3, overrides=overrides) as cloud:
        yield cloud
