"""Builds roost-scheduler-client; ``../subset.py`` says what is in it."""

import pathlib
import runpy

subset = runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "subset.py"))
subset["build"]("roost-scheduler-client")
