"""A scheduler that is installed alone, and a client that is installed alone, place a volume.

The wheels are made of this tree, and installed with what they need into environments of their own:
none of the compute service is there.
"""

import os
import pathlib
import subprocess
import sys

import pytest

from roost.rig import services

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "doc" / "examples" / "roost-volume-placer"
FORBIDDEN = ("falcon", "keystoneauth1", "keystonemiddleware", "openstacksdk", "oslo.policy", "tooz")
PLACE = """
import sys, time, uuid
import roost_volume_placer as volumes
from roost.exception import NoValidHost, Unavailable

bus = volumes.connect(sys.argv[1])
pool = volumes.Pool(bus, "flash", gib=10, traits=[volumes.SSD])
placer = volumes.VolumePlacer(bus)
volume = str(uuid.uuid4())
for _ in range(100):
    pool.reporter.tick(time.monotonic())
    try:
        print(placer.place([volume], gib=7, project="p", traits=[volumes.SSD]))
        break
    except (NoValidHost, Unavailable) as error:
        pool.reporter.changed()
        time.sleep(0.3)
try:
    placer.place([str(uuid.uuid4())], gib=7, project="p")
except NoValidHost as refused:
    print(refused.message)
placer.release([volume])
print(placer.place([str(uuid.uuid4())], gib=7, project="p"))
bus.close()
"""
# This tree must not be found: neither by the environment of the tests nor by the current folder.
CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command, cwd, **environment):
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=CLEAN | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    sources = [ROOT / "packages" / name for name in ("scheduler", "scheduler-client")]
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, *sources, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def install(wheels, tmp_path_factory):
    """Make an environment with a distribution and what it needs; return its folder of programs."""

    def install(name):
        folder = tmp_path_factory.mktemp(name)
        run(sys.executable, "-m", "venv", folder, cwd=folder)
        programs = folder / "bin"
        constraints = ROOT / "tools" / "constraints.txt"
        pip = (programs / "python", "-m", "pip")
        run(*pip, "install", "-q", "--find-links", wheels, "-c", constraints, name, cwd=folder)
        there = run(*pip, "list", "--format=freeze", cwd=folder)
        assert f"{name}==" in there
        assert [one for one in FORBIDDEN if f"{one}==" in there] == []
        return programs

    return install


@pytest.fixture(scope="module")
def database_url(postgresql):
    name = services.unique_name("test")
    yield postgresql.create_database(name)
    postgresql.drop_database(name)


@pytest.fixture
def scheduler(install, database_url, rabbitmq_url, tmp_path):
    """A scheduler that runs, installed alone."""
    programs, file = install("roost-scheduler"), tmp_path / "scheduler.conf"
    file.write_text(
        f"[scheduler]\ntransport_url = {rabbitmq_url}\n"
        f"[scheduler_database]\nconnection = {database_url}\n"
    )
    run(programs / "roost-scheduler-db-sync", "--config-file", file, cwd=tmp_path)
    with (tmp_path / "scheduler.log").open("w") as log:
        process = subprocess.Popen(
            [programs / "roost-scheduler", "--config-file", file],
            cwd=tmp_path,
            env=CLEAN,
            stdout=log,
            stderr=log,
        )
        yield programs
        assert process.poll() is None, (tmp_path / "scheduler.log").read_text()
        process.terminate()
        assert process.wait(30) == 0


def absent(modules, *, programs, cwd):
    script = (
        "import importlib.util, sys;"
        "print(*(one for one in sys.argv[1:] if importlib.util.find_spec(one) is None))"
    )
    return run(programs / "python", "-c", script, *modules, cwd=cwd).split()


@pytest.mark.timeout(600)
def test_a_scheduler_and_a_client_that_are_installed_alone_place_a_volume(
    scheduler, install, rabbitmq_url, tmp_path
):
    client = install("roost-scheduler-client")
    told = run(
        *(client / "python", "-c", PLACE, rabbitmq_url), cwd=tmp_path, PYTHONPATH=str(EXAMPLE)
    )
    first, refusal, again = told.splitlines()
    assert (first, again) == ("['flash']", "['flash']")
    assert "not enough CUSTOM_VOLUME_GB" in refusal
    service = ("roost.api", "roost.compute", "roost.conductor", "roost.scheduler.simulation")
    assert absent(service, programs=scheduler, cwd=tmp_path) == [*service]
    daemon = ("roost.db", "roost.cmd", "roost.conf", "roost.scheduler.manager", "numpy")
    assert absent(daemon, programs=client, cwd=tmp_path) == [*daemon]
