"""What a host remembers of what may pass: of networks that are here, or about to be."""

import pytest

from roost.compute.network.bridge.filters import Filters
from tests.builders import a_context, a_uuid, a_vif
from tests.fakes.cell_conductor import FakeCellConductor

HERE, GONE = a_uuid(), a_uuid()


@pytest.fixture
def filters(tmp_path):
    conductor = FakeCellConductor()
    for network_id in (HERE, GONE):
        conductor.let_pass(a_vif(network_id=network_id))
    filters = Filters(tmp_path / "filters.json", conductor, host="h1")
    filters.learn(a_context(), [HERE, GONE])
    return filters


def known(filters):
    return {network_id for network_id in (HERE, GONE) if filters.get(network_id).ports}


def test_networks_that_are_here_no_more_are_forgotten(filters):
    filters.keep([HERE])
    assert known(filters) == {HERE}


def test_of_no_networks_not_even_a_file_is_left(filters, tmp_path):
    filters.keep([])
    assert known(filters) == set()
    assert [*tmp_path.iterdir()] == []


def test_networks_that_are_about_to_be_here_are_remembered_by_all_who_wait_for_them(filters):
    with filters.held([GONE]):
        with filters.held([GONE]):
            filters.keep([HERE])
        filters.keep([HERE])
        assert known(filters) == {HERE, GONE}
    filters.keep([HERE])
    assert known(filters) == {HERE}
