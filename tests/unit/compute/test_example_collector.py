"""The example of the documentation works: a resource of one's own, in one file on the host."""

import pytest

from roost import conf
from roost.compute.collectors import Collectors
from tests.examples import install_example  # noqa: F401 - a fixture
from tests.unit.compute.conftest import RESOURCES


@pytest.fixture
def collectors(install_example, tmp_path):  # noqa: F811 - the fixture
    install_example("roost-example-collector")
    options = {
        "DEFAULT": {"state_path": str(tmp_path)},
        "compute": {"collectors": ["licences"]},
    }
    (tmp_path / "licences").mkdir()
    return Collectors.from_conf(conf.of(options), node="n1")


def test_the_file_says_how_many_licences_there_are(collectors, tmp_path):
    for total in (20, 0, 7):
        (tmp_path / "licences" / "n1").write_text(f"{total}\n")
        assert collectors.ask("licences")
        (licences,) = collectors.added_to(RESOURCES).inventories
        assert (licences.resource_class, licences.total) == ("CUSTOM_LICENSE", total)
        assert collectors.metrics() == {"licences.total": float(total)}
    (tmp_path / "licences" / "n1").unlink()
    assert not collectors.ask("licences")
    assert collectors.added_to(RESOURCES).inventories == (licences,)
