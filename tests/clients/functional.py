"""The functional tests that openstacksdk and the openstack command bring, run against a rig."""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
from collections.abc import Iterator

import yaml

from roost.rig.openstack import contents
from roost.rig.openstack.identity import KeystoneAdmin
from roost.rig.openstack.plan import ADMIN, GLANCE, MEMBER, REGION
from roost.rig.plan import Plan
from tests.clients.volumes import no_volumes
from tests.tempest.running import Results

EXCLUDED = pathlib.Path(__file__).with_name("excluded.txt")
HABITS = pathlib.Path(__file__).with_name("habits.txt")
_IMAGE = "cirros-0-disk"  # by its name they know that they may boot it
_OTHER = "alt_demo"


@dataclasses.dataclass(frozen=True)
class Suite:
    """The functional tests of one client.

    :param package: that brings them
    :param folders: of its functional tests that mean Compute, looked through one after the other
    :param regex: which of the tests there
    """

    package: str
    folders: tuple[str, ...]
    regex: str


SUITES = {
    "sdk": Suite("openstack", ("compute", "cloud"), r"compute|cloud\.test_(inventory|meta)"),
    "osc": Suite("openstackclient", ("compute",), "compute"),
}


@contextlib.contextmanager
def clouds(plan: Plan, folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Give a rig what they expect of a cloud; yield the ``clouds.yaml`` that tells them of it.

    :param folder: an empty one, theirs to write into
    """
    openstack = plan.openstack
    identity = KeystoneAdmin(openstack.identity, openstack.passwords[ADMIN])
    identity.project(_OTHER)
    identity.user(_OTHER, openstack.passwords[MEMBER], _OTHER, "member")
    contents.add_image(contents.admin_session(openstack), openstack.url(GLANCE), _IMAGE)
    with no_volumes() as volumes:
        file = folder / "clouds.yaml"
        file.write_text(yaml.safe_dump({"clouds": _described(plan, volumes)}))
        yield file


def _described(plan: Plan, volumes: str) -> dict[str, object]:
    passwords = plan.openstack.passwords

    def cloud(user: str, password: str, **scope: str) -> dict[str, object]:
        names = {"username": user, "password": password, "user_domain_id": "default"}
        return {
            "auth": {"auth_url": plan.openstack.identity, **names, **scope},
            "region_name": REGION,
            "identity_api_version": "3",
            "block_storage_api_version": "3",
            "block_storage_endpoint_override": volumes,
        }

    def of_project(user: str, password: str) -> dict[str, object]:
        return cloud(user, password, project_name=user, project_domain_id="default")

    return {
        "devstack": of_project(MEMBER, passwords[MEMBER]),
        "devstack-alt": of_project(_OTHER, passwords[MEMBER]),
        "devstack-admin": of_project(ADMIN, passwords[ADMIN]),
        "devstack-system-admin": cloud(ADMIN, passwords[ADMIN], system_scope="all"),
    }


def run(
    suite: Suite, installed: pathlib.Path, workspace: pathlib.Path, *selection: str | pathlib.Path
) -> Results:
    """Run what is selected of a suite and not excluded, as stestr does; print what it prints.

    :param installed: the folder of ``tools/clients.sh``
    :param workspace: where ``clouds.yaml`` is
    :param selection: arguments of ``stestr run``; none: all of it
    """
    results = Results()
    chosen = ["--exclude-list", EXCLUDED, "--concurrency", "2", *(selection or [suite.regex])]
    for line in _stestr(suite, "run", *chosen, installed=installed, workspace=workspace):
        results.read(line)
        print(line, end="", flush=True)
    return results


def list_tests(suite: Suite, installed: pathlib.Path, workspace: pathlib.Path) -> list[str]:
    """Return the names of all tests of a suite."""
    lines = _stestr(suite, "list", suite.regex, installed=installed, workspace=workspace)
    return [line.strip() for line in lines if line.startswith(suite.package)]


def _stestr(
    suite: Suite,
    word: str,
    *arguments: str | pathlib.Path,
    installed: pathlib.Path,
    workspace: pathlib.Path,
) -> Iterator[str]:
    """Have stestr do something for each folder, and yield what it says, line by line."""
    (packages,) = (installed / "venv/lib").glob("python3*/site-packages")
    for folder in suite.folders:
        tests = packages / suite.package / "tests/functional" / folder
        where = ("--test-path", tests, "--top-dir", packages)
        yield from _lines([*where, word, *arguments], installed / "venv/bin", workspace)


def _lines(
    arguments: list[str | pathlib.Path], programs: pathlib.Path, workspace: pathlib.Path
) -> Iterator[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    with subprocess.Popen(
        [programs / "stestr", *arguments],
        cwd=workspace,
        env={
            **clean,
            "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
            "PYTHON": str(programs / "python"),
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
            "HOME": str(workspace),
            "OS_CLOUD": "devstack-admin",
            "OS_TEST_TIMEOUT": "300",
            "OS_LOG_CAPTURE": "true",
            "OPENSTACKSDK_IMAGE": _IMAGE,
            "OPENSTACKSDK_FLAVOR": "m1.tiny",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        yield from process.stdout or ()
