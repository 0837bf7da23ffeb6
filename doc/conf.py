"""Sphinx configuration; parts of the pages come from the code (options, steps, states)."""

import pathlib
import sys
import warnings

from roost import concurrency

warnings.filterwarnings("ignore", message="(?s).*Eventlet is deprecated")
concurrency.select([])
sys.path.insert(0, str(pathlib.Path(__file__).parent / "ext"))

project = "Roost"
author = "The Roost developers"
extensions = [
    "oslo_config.sphinxext",
    "steps",
    "statechart",
    "operations",
    "microversions",
    "callers",
]
exclude_patterns = ["build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "A compute control plane",
    "page_width": "1080px",
    "fixed_sidebar": True,
}
html_static_path: list[str] = []
nitpicky = True
