"""The example of the documentation works: a filter from elsewhere, with an option of its own."""

import configparser
import pathlib
import sys

import pytest
from stevedore import ExtensionManager, _cache

from roost import conf, exception
from roost.scheduler import plugins
from tests.unit.scheduler.host_builders import a_request, a_row, an_engine, hosts_of

EXAMPLE = pathlib.Path(__file__).parents[3] / "doc" / "examples" / "roost-example-filter"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Have the package found as if it was installed."""
    setup = configparser.ConfigParser()
    setup.read(EXAMPLE / "setup.cfg")
    name, version = setup["metadata"]["name"], setup["metadata"]["version"]
    folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [f"[{group}]\n{points}" for group, points in setup["options.entry_points"].items()]
    (folder / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})
    monkeypatch.setattr(_cache._c, "_disable_caching", True)
    for path in (EXAMPLE, tmp_path):
        monkeypatch.syspath_prepend(path)
    yield
    sys.modules.pop("roost_example_filter", None)


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
