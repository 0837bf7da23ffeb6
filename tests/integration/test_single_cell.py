"""A deployment of one cell, laid by hand as doc/deploy.rst says, with roost-conductor."""

import pytest

from tests.stories.cloud import wait_until
from tests.stories.single_cell_deployment import Site


@pytest.fixture
def site(tmp_path, mode, port, rabbitmq_url):
    site = Site(tmp_path, mode=mode, port=port, bus=rabbitmq_url)
    site.lay()
    site.start()
    yield site
    site.end()


def test_a_server_boots_and_ends_with_both_conductors_in_one_process(site):
    assert site.manage("cell", "discover-hosts", "--json") == [{"host": "here", "cell": "cell1"}]
    assert all(check["passed"] for check in site.manage("cell", "verify", "--json"))
    uuid = site.boot()
    wait_until(lambda: site.status(uuid) in ("ACTIVE", "ERROR"), "the end of the boot")
    assert site.client.server(uuid)["status"] == "ACTIVE"
    who = {event.who for event in site.client.boot_events(uuid)}
    assert who == {"api", "super-conductor", "scheduler", "compute"}
    site.client.delete_server(uuid)
    wait_until(lambda: site.status(uuid) is None, "the end of the server")
    assert set(site.manage("audit", "--json")["counts"].values()) == {0}
