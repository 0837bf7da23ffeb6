"""Which hosts the demonstration lets fail."""

from roost.rig.boots import WatchedServer
from roost.rig.demo import failing_hosts
from roost.rig.plan import new_plan


def on(host):
    return WatchedServer(id="x", name="x", asked=0, accepted=0, host=host)


def test_the_emptiest_hosts_fail_and_each_cell_keeps_one(tmp_path):
    plan = new_plan(tmp_path, cells=2, hosts=3)
    servers = [on("cell1-host1"), on("cell1-host1"), on("cell1-host3"), on("cell2-host2")]
    assert failing_hosts(plan, servers) == [
        "cell1-host2", "cell1-host3", "cell2-host1", "cell2-host3",
    ]  # fmt: skip
