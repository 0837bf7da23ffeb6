"""The example of the documentation works: a filter from elsewhere, with an option of its own."""

import pytest

from roost import conf, exception
from roost.scheduler import plugins
from tests.examples import install_example  # noqa: F401 - a fixture
from tests.unit.scheduler.host_builders import a_request, a_row, an_engine, hosts_of


@pytest.fixture
def installed(install_example):  # noqa: F811 - the fixture
    install_example("roost-example-filter")


def options(**values):
    return conf.of({"scheduler": {"filters": ["enabled", "maintenance"], **values}}).scheduler


def test_hosts_under_maintenance_get_no_new_servers(installed):
    engine = an_engine(plugins.load_filters(options(maintenance_hosts=["h1"])))
    hosts = hosts_of(a_row("h1"), a_row("h2"))
    (place,) = engine.decide(a_request(), hosts).chosen
    assert hosts.name("host", place.row) == "h2"


def test_its_option_is_in_the_sample(installed):
    listed = [
        option.name for group, some in conf.list_opts() if group == "scheduler" for option in some
    ]
    assert "maintenance_hosts" in listed


def test_without_the_package_the_filter_does_not_exist():
    with pytest.raises(exception.Invalid, match="there is no maintenance"):
        plugins.load_filters(options())
