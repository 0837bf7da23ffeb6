"""Quotas and audits on real daemons: exact under a storm, and damage put right while it runs."""

import collections
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import sys
import threading

import pytest
import requests
import sqlalchemy as sa

from roost.context import admin_context
from roost.db.api import instance_mappings, quota
from roost.db.api import models as api_models
from roost.db.engine import Database
from roost.rig.client import Client
from roost.rig.services.private import free_port
from tests.builders import a_spec, a_uuid
from tests.parts import second
from tests.stories.cloud import wait_until

BIN = pathlib.Path(sys.executable).parent
ASKED, LIMIT = 200, 12


@pytest.fixture
def api_database(cloud):
    database = Database(cloud.plan.database_url("api"), connections=4)
    yield database
    database.close()


@pytest.fixture
def endpoints(cloud, tmp_path):
    """Three api processes: that of the rig, and two more like it."""
    with contextlib.ExitStack() as running:
        more = [running.enter_context(_api(cloud, tmp_path)) for _ in range(2)]
        for endpoint in more:
            wait_until(Client(endpoint).answers, f"answer of {endpoint}")
        yield [cloud.client.endpoint, *more]


@contextlib.contextmanager
def _api(cloud, folder):
    """One more roost-api, which may not answer yet.

    It has few threads, and so few connections: other rigs share the database server.
    """
    port = free_port()
    own = folder / f"{port}.conf"
    own.write_text(f"[api]\nport = {port}\nthreads = 4\n")
    files = [f"--config-file={path}" for path in (cloud.plan.config_file("api"), own)]
    with (folder / f"{port}.log").open("w") as log:
        process = subprocess.Popen([BIN / "roost-api", *files], stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}/v2.1"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(params=["project", second("user")])
def limited(request, cloud, api_database):
    """The project of these stories may have few instances, or their only user may."""
    (uuid,) = cloud.boot()
    few = {"instances": LIMIT}
    with api_database.begin() as session:
        mapping = instance_mappings.get(session, uuid)
        if request.param == "project":
            quota.set_for_project(session, mapping.project_id, few)
        else:
            quota.set_for_user(session, mapping.project_id, mapping.user_id, few)
    cloud.delete_all()
    yield mapping.project_id
    with api_database.begin() as session:
        quota.forget_project(session, mapping.project_id)


class Watch:
    """Looks again and again at what the project is charged and has; keeps the most."""

    def __init__(self, database, project):
        self.database, self.project = database, project
        self.most = 0
        self.differences = []
        self._stopped = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()

    def _look(self):
        while not self._stopped.wait(0.02):
            with self.database.read() as session:
                self.differences += quota.differences(session).items()
                has = quota.counted(session, self.project).get(self.project, {})
                used = quota.usage(session, self.project)
            self.most = max(self.most, has.get("instances", 0), used["instances"])


def test_a_quota_is_exact_over_several_api_processes(cloud, endpoints, limited, api_database):
    body = {"name": "x", "flavorRef": cloud.flavor, "imageRef": cloud.image, "networks": "none"}
    headers = {"OpenStack-API-Version": "compute 2.90"}
    codes = collections.Counter()
    troubles = []

    def boot_and_delete(number):
        """Ask one process, and have another one delete what was got."""
        first, other = (endpoints[(number + more) % 3] for more in (0, 1))
        created = requests.post(
            f"{first}/servers", json={"server": body}, headers=headers, timeout=60
        )
        codes[created.status_code] += 1
        if created.status_code == 202:
            gone = requests.delete(
                f"{other}/servers/{created.json()['server']['id']}", headers=headers, timeout=60
            )
            codes[gone.status_code] += 1
            if gone.status_code != 204:
                troubles.append(gone.text)
        elif "Quota exceeded for instances" not in created.text:
            troubles.append(created.text)

    threads = concurrent.futures.ThreadPoolExecutor(24)
    with Watch(api_database, limited) as seen, threads as pool:
        list(pool.map(boot_and_delete, range(ASKED)))
    assert set(codes) == {202, 204, 403}, troubles
    assert troubles == []
    assert codes[202] == codes[204] == ASKED - codes[403]
    assert LIMIT / 2 < seen.most <= LIMIT
    assert seen.differences == []
    with api_database.read() as session:
        assert quota.usage(session, limited)["instances"] == 0


def test_damage_is_put_right_while_all_runs(cloud, api_database):
    servers = cloud.boot(count=4)
    cloud.wait(servers, "ACTIVE")
    unclaimed, unmapped, *_ = servers
    cloud._scheduler.release_claims(admin_context(), instance_uuids=[unclaimed])
    cloud.claim(a_uuid(), a_spec())
    with api_database.begin() as session:
        instance_mappings.forget(session, unmapped)
        session.execute(sa.update(api_models.quota_usages).values(cores=99))
    done = _audit(cloud, "--repair")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert {row["what"] for row in answer["repairs"]} >= {"released", "recounted", "mapped"}
    assert set(answer["counts"].values()) == {0}
    assert cloud.audit() == {}
    assert len(list(cloud.client.servers())) == 4


def _audit(cloud, *options):
    files = ["--config-file", str(cloud.plan.config_file("manage"))]
    return subprocess.run(
        [BIN / "roost-manage", *files, "audit", "--json", "--settle", "1", *options],
        capture_output=True,
        text=True,
        timeout=120,
    )
