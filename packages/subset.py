"""The distributions that have a part of the source tree: their modules, and what these need.

``roost`` has everything. ``roost-scheduler`` is the scheduler without the rest of the compute
service, and ``roost-scheduler-client`` is what another service needs to be its client; no module is
in both. ``setup.py`` in their folders calls :func:`build`. The versions of libraries, and the
entry points of filters and the like, are those of ``setup.cfg``.

``tests/unit/test_distributions.py`` checks that nothing is missing.
"""

import configparser
import dataclasses
import fnmatch
import pathlib
import re
import tempfile
from collections.abc import Iterator
from typing import Any, Final

TREE: Final = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class Subset:
    """A distribution.

    ``modules`` are patterns of module names, ``without`` those that match but do not belong to it;
    ``needs`` names distributions of ``setup.cfg``, ``entry_points`` groups of it, where a trailing
    dot stands for all that begin so.
    """

    description: str
    modules: tuple[str, ...]
    needs: tuple[str, ...]
    without: tuple[str, ...] = ()
    above: str | None = None
    entry_points: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()

    def files(self) -> Iterator[tuple[str, pathlib.Path]]:
        """Yield the dotted name and the file of each module."""
        for path in sorted(TREE.glob("roost/**/*.py")):
            parts = path.relative_to(TREE).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if _any(name, self.modules) and not _any(name, self.without):
                yield name, path


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _within(package: str, *names: str) -> tuple[str, ...]:
    return (package, *(f"{package}.{name}" for name in names))


DISTRIBUTIONS: Final = {
    "roost-scheduler-client": Subset(
        "The client of Roost's schedulers, for services that place something on hosts.",
        modules=(
            *_within("roost", "callers", "circuit_breaker", "clock", "concurrency", "context"),
            "roost.exception",
            *_within("roost.objects", "*"),
            *_within("roost.rpc", "access", "consumer_check", "interface", "oslo_driver"),
            *_within("roost.rpc", "scheduler", "serializer", "server", "transport"),
            *_within("roost.scheduler", "client"),
        ),
        needs=(
            "eventlet",
            "futurist",
            "kombu",
            "os-resource-classes",
            "os-traits",
            "oslo.config",
            "oslo.context",
            "oslo.messaging",
            "oslo.serialization",
            "oslo.service",
            "oslo.versionedobjects",
        ),
    ),
    "roost-scheduler": Subset(
        "Roost's scheduler: chooses hosts for servers, or for anything else, and claims resources.",
        above="roost-scheduler-client",
        modules=(
            *_within("roost.cmd", "_checks", "_daemon", "_database", "_options", "_records"),
            *_within("roost.cmd", "_run", "_waiting", "scheduler", "scheduler_db_sync"),
            *_within("roost.conf", "bus", "database", "default", "filters", "scheduler"),
            *_within(
                "roost.db",
                *("clock", "drivers", "engine", "errors", "insert", "prepared", "types", "wire"),
            ),
            *_within("roost.db.scheduler", "*"),
            *_within("roost.hardware", "image_requirements", "properties", "spec_language"),
            *_within("roost.hardware", "providers", "resource_groups", "traits", "values"),
            *_within("roost.migrations", "types", "upgrade", "scheduler", "scheduler.*"),
            "roost.group_commit",
            "roost.plugins",
            "roost.rpc.notifications",
            "roost.scheduler.*",
            *_within("roost.servicegroup", "driver"),
        ),
        without=("roost.scheduler.client", "roost.scheduler.simulation*"),
        needs=(
            "SQLAlchemy",
            "alembic",
            "cotyledon",
            "numpy",
            "orjson",
            "oslo.db",
            "oslo.log",
            "oslo.utils",
            "psycopg",
            "psycopg2-binary",
            "PyMySQL",
            "scipy",
            "stevedore",
        ),
        entry_points=("roost.scheduler.",),
        scripts=("scheduler", "scheduler_db_sync"),
    ),
}


class Root:
    """What ``setup.cfg`` and ``roost/__init__.py`` say of the whole."""

    def __init__(self) -> None:
        self._setup = configparser.ConfigParser()
        self._setup.read(TREE / "setup.cfg")
        text = (TREE / "roost/__init__.py").read_text()
        found = re.search(r'^__version__.*"(.+)"$', text, re.MULTILINE)
        self.version = found.group(1) if found else ""

    def requirement(self, name: str) -> str:
        """Return the requirement of a distribution, with its extras and versions."""
        lines = self._setup["options"]["install_requires"].splitlines()
        stated = [line.partition("#")[0].strip() for line in lines]
        (found,) = [one for one in stated if re.split(r"[\[<>=]", one)[0] == name]
        return found

    def entry_points(self, groups: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the entry points of groups, ``name = module:object`` each."""
        return {
            group: text.split("\n")[1:]
            for group, text in self._setup["options.entry_points"].items()
            if any(group == one or (one[-1] == "." and group.startswith(one)) for one in groups)
        }


def described(name: str) -> dict[str, Any]:
    """Return the arguments of setuptools for a distribution."""
    subset, root = DISTRIBUTIONS[name], Root()
    above = [f"{subset.above}=={root.version}"] if subset.above else []
    scripts = [f"roost-{one.replace('_', '-')} = roost.cmd.{one}:main" for one in subset.scripts]
    return {
        "name": name,
        "version": root.version,
        "description": subset.description,
        "license": "Apache-2.0",
        "python_requires": ">=3.11",
        "install_requires": [*above, *map(root.requirement, subset.needs)],
        "entry_points": {"console_scripts": scripts, **root.entry_points(subset.entry_points)},
    }


def _package(name: str, path: pathlib.Path) -> str:
    return name if path.stem == "__init__" else name.rpartition(".")[0]


def build(name: str) -> None:
    """Run setuptools for a distribution; wheels only, as the sources are those of ``roost``."""
    import setuptools
    from setuptools.command import build_py

    subset = DISTRIBUTIONS[name]

    class BuildSubset(build_py.build_py):
        def find_modules(self) -> list[tuple[str, str, str]]:
            return [(_package(name, path), path.stem, str(path)) for name, path in subset.files()]

    folder = tempfile.mkdtemp(prefix=f"{name}-")  # a folder of an earlier build may have too much
    setuptools.setup(
        **described(name),
        py_modules=["roost"],
        cmdclass={"build_py": BuildSubset},
        options={"build": {"build_base": folder}},
    )
