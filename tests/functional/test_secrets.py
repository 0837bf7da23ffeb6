"""Passwords, user data and the like reach no log, no answer to others and no command's output."""

import base64
import contextlib
import json
import logging

import pytest
import requests
from click import testing

from roost.cmd._options import _QUIET
from roost.cmd.manage.cli import roost_manage
from roost.rig.embedded import EmbeddedRig
from tests.fakes.keystone import FakeIdentity
from tests.fakes.processes import DaemonProcess
from tests.stories.cloud import Cloud, wait_until

_PASSWORD = "h0le-in-0ne"
_HOST = "127.0.0.1"
_NOWHERE = f"{_HOST}:1"
_BUS = f"rabbit://roost:{_PASSWORD}@{_NOWHERE}/"
_DATABASES = {
    "postgresql": f"postgresql+psycopg://roost:{_PASSWORD}@{_NOWHERE}/roost",
    "mariadb": f"mysql+pymysql://roost:{_PASSWORD}@{_NOWHERE}/roost",
}
_DATABASES_OF = {"api": "postgresql", "cell": "mariadb", "scheduler": "postgresql"}
_PROVING = (
    "auth_type = v3password",
    f"auth_url = http://{_NOWHERE}/v3",
    "username = roost",
    "user_domain_id = default",
    f"password = {_PASSWORD}",
)
_GROUP = f"redis://:{_PASSWORD}@{_NOWHERE}"
_DAEMONS = (
    "roost-api",
    "roost-super-conductor",
    "roost-scheduler",
    "roost-cell-conductor",
    "roost-compute",
)
_COMMANDS = [
    ["db", "version"],
    ["db", "sync", "cell", "--database-url", _DATABASES["mariadb"]],
    ["db", "sync", "cell", "--database-url", f"nonsense://roost:{_PASSWORD}@{_NOWHERE}/roost"],
    ["db", "sync", "cell", "--database-url", f"mysql//roost:{_PASSWORD}@{_NOWHERE}/roost"],
    ["cell", "list"],
    ["cell", "map-cell0", "--database-url", _DATABASES["postgresql"]],
]


def _configuration(folder):
    lines = [
        "[DEFAULT]",
        "debug = true",
        f"state_path = {folder}",
        f"transport_url = {_BUS}",
        "[servicegroup]",
        f"url = {_GROUP}",
        *(
            line
            for group in ("keystone_authtoken", "service_user")
            for line in (f"[{group}]", *_PROVING)
        ),
        *(
            line
            for schema, database in _DATABASES_OF.items()
            for line in (f"[{schema}_database]", f"connection = {_DATABASES[database]}")
        ),
    ]
    path = folder / "roost.conf"
    path.write_text("\n".join(lines))
    return path


def test_daemons_that_reach_nothing_tell_no_password(tmp_path):
    config = _configuration(tmp_path)
    daemons = {name: DaemonProcess(name, config, tmp_path / f"{name}.log") for name in _DAEMONS}
    try:
        for daemon in daemons.values():
            daemon.wait_for_log("waiting")
    finally:
        for daemon in daemons.values():
            daemon.end()
    told = {name: daemon.log for name, daemon in daemons.items()}
    assert [name for name, log in told.items() if _PASSWORD in log] == []


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_command_that_fails_tells_no_password(tmp_path, caplog, command):
    arguments = ["--debug", "--config-file", str(_configuration(tmp_path)), *command]
    with caplog.at_level(logging.DEBUG):
        done = testing.CliRunner().invoke(roost_manage, arguments)
    assert done.exit_code == 1
    assert _HOST in done.output
    assert _PASSWORD not in done.output + caplog.text


class _Heard(logging.Handler):
    """Keeps what is logged, as it would be written."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


@contextlib.contextmanager
def _hearing():
    """Log all that ``debug = true`` logs, and keep it."""
    heard, root = _Heard(), logging.getLogger()
    before, quiet = root.level, [entry.split("=") for entry in _QUIET]
    levels = {name: logging.getLogger(name).level for name, _ in quiet}
    root.addHandler(heard)
    root.setLevel(logging.DEBUG)
    for name, level in quiet:
        logging.getLogger(name).setLevel(logging.getLevelName(level.replace("WARN", "WARNING")))
    try:
        yield heard
    finally:
        root.removeHandler(heard)
        root.setLevel(before)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@pytest.fixture(scope="module")
def heard():
    with _hearing() as heard:
        yield heard


@pytest.fixture(scope="module")
def cloud(heard, tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    notes = {"oslo_messaging_notifications": {"driver": "log"}}
    rig = EmbeddedRig(folder, cells=1, hosts=2, overrides=notes)
    rig.start()
    made = Cloud(rig)
    yield made
    made.close()
    rig.stop()


_TOKEN, _SERVICE_TOKEN, _ROOT_TOKEN = "token-of-alice", "token-of-neutron", "token-of-root"
_MADE_UP = "token-of-a-thief"
_TOKENS = (_TOKEN, _SERVICE_TOKEN, _ROOT_TOKEN, _MADE_UP)


@pytest.fixture(scope="module")
def identity():
    made = FakeIdentity()
    made.knows(_TOKEN, "member", "reader")
    made.knows(_SERVICE_TOKEN, "service")
    made.knows(_ROOT_TOKEN, "admin")
    yield made
    made.close()


@pytest.fixture(scope="module")
def keystone_rig(heard, identity, tmp_path_factory):
    asking = {
        "auth_type": "v3password",
        "auth_url": f"{identity.url}/v3",
        "username": "roost",
        "user_domain_id": "default",
        "password": _PASSWORD,
        "www_authenticate_uri": identity.url,
    }
    overrides = {
        "oslo_messaging_notifications": {"driver": "log"},
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": asking,
    }
    rig = EmbeddedRig(tmp_path_factory.mktemp("tokens"), cells=1, hosts=1, overrides=overrides)
    rig.start()
    yield rig
    rig.stop()


def _with_token(rig, method, path, body=None, token=_TOKEN):
    headers = {"X-Auth-Token": token, "X-Service-Token": _SERVICE_TOKEN}
    return requests.request(method, rig.endpoint + path, json=body, headers=headers, timeout=60)


def _boot_by_token(rig, **values):
    image = _with_token(rig, "GET", "/../image/v2/images").json()["images"][0]["id"]
    server = {"name": "x", "flavorRef": "1", "imageRef": image, **values}
    made = _with_token(rig, "POST", "/servers", {"server": server}).json()["server"]["id"]

    def done():
        found = _with_token(rig, "GET", f"/servers/{made}").json()["server"]
        return found if found["status"] in ("ACTIVE", "ERROR") else None

    return wait_until(done, "it is built")


def _has_token(text):
    return any(secret in text for secret in (*_TOKENS, _PASSWORD))


def test_tokens_are_in_no_log_no_notification_and_no_answer(keystone_rig, heard):
    assert _boot_by_token(keystone_rig)["status"] == "ACTIVE"
    large = {"flavor": {"name": "large", "id": "large", "ram": 2**30, "vcpus": 1, "disk": 1}}
    assert _with_token(keystone_rig, "POST", "/flavors", large, _ROOT_TOKEN).status_code == 200
    failed = _boot_by_token(keystone_rig, flavorRef="large")
    refused = _with_token(keystone_rig, "GET", "/servers", token=_MADE_UP)
    assert (failed["status"], refused.status_code) == ("ERROR", 401)
    assert any("scheduler.select_destinations.error" in line for line in heard.lines)
    assert [line[:300] for line in heard.lines if _has_token(line)] == []
    assert not _has_token(json.dumps(failed) + refused.text)


def test_tokens_are_kept_in_no_database_and_no_file(keystone_rig):
    assert _boot_by_token(keystone_rig)["status"] == "ACTIVE"
    files = [path for path in keystone_rig.state.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    keeping = [path.name for path in files if _TOKEN.encode() in path.read_bytes()]
    assert keeping == []


_USER_DATA = base64.b64encode(b"#!/bin/sh echo user-data-is-secret").decode()
_FILE = base64.b64encode(b"a file that is secret").decode()
_ADMIN_PASS = "admin-pass-is-secret"
_SECRETS = (_USER_DATA, _FILE, _ADMIN_PASS)


def _ask(cloud, method, path, body=None, *, version="2.1", token="alice:blue"):
    return requests.request(
        method,
        cloud.client.endpoint + path,
        data=body if isinstance(body, bytes) else json.dumps(body),
        headers={
            "X-Auth-Token": token,
            "OpenStack-API-Version": f"compute {version}",
            "Content-Type": "application/json",
        },
        timeout=60,
    )


def _server(cloud, **values):
    return {
        "server": {
            "name": "secret",
            "flavorRef": cloud.flavor,
            "imageRef": cloud.image,
            "adminPass": _ADMIN_PASS,
            "user_data": _USER_DATA,
            **values,
        }
    }


def test_what_a_server_is_given_in_secret_is_told_to_nobody_else(cloud, heard):
    made = _ask(cloud, "POST", "/servers", _server(cloud))
    assert made.json()["server"]["adminPass"] == _ADMIN_PASS
    server_id = made.json()["server"]["id"]
    wait_until(lambda: cloud.show(server_id)["status"] == "ACTIVE", "it is built")
    shown = _ask(cloud, "GET", f"/servers/{server_id}", version="2.96").text
    actions = _ask(cloud, "GET", f"/servers/{server_id}/os-instance-actions", version="2.96").text
    assert _told([shown, actions]) == []
    assert any(server_id in line for line in heard.lines)
    assert _told(heard.lines) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"adminPass": _ADMIN_PASS * 20},
        {"adminPass": {"value": _ADMIN_PASS}},
        {"user_data": _USER_DATA + "!"},
        {"user_data": [_USER_DATA]},
        {"personality": {"path": "/a", "contents": _FILE}},
        {"personality": [{"path": "/a", "contents": _FILE}] * 70},
        {"metadata": {"adminPass": [_ADMIN_PASS]}},
        {"name": ""},
        {"nonsense": {"adminPass": _ADMIN_PASS}},
    ],
    ids=range(9),
)
def test_a_bad_body_tells_no_secret(cloud, heard, wrong):
    answer = _ask(cloud, "POST", "/servers", _server(cloud, **wrong))
    assert answer.status_code in (400, 403)  # 403: more files than the quota has
    assert _told([answer.text, *heard.lines]) == []


def _told(texts):
    return [text[:300] for text in texts for secret in _SECRETS if secret in text]
