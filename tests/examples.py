"""The example plug-ins of the documentation, found as if they were installed."""

import configparser
import pathlib
import sys

import pytest
from stevedore import ExtensionManager, _cache

EXAMPLES = pathlib.Path(__file__).parents[1] / "doc" / "examples"


@pytest.fixture
def install_example(tmp_path, monkeypatch):
    """Have a package in the folder of examples found."""
    modules = []

    def install(name):
        setup = configparser.ConfigParser()
        setup.read(EXAMPLES / name / "setup.cfg")
        version = setup["metadata"]["version"]
        assert setup["metadata"]["name"] == name
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(about)
        groups = [f"[{group}]\n{points}" for group, points in setup["options.entry_points"].items()]
        (folder / "entry_points.txt").write_text("\n".join(groups))
        monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", {})
        monkeypatch.setattr(_cache._c, "_disable_caching", True)
        for path in (EXAMPLES / name, tmp_path):
            monkeypatch.syspath_prepend(path)
        modules.append(setup["options"]["py_modules"])

    yield install
    for module in modules:
        sys.modules.pop(module, None)
