"""Every daemon is put together from its options, and opens nothing by that."""

import importlib
import socket
import subprocess
import sys

import oslo_messaging as messaging
import pytest

import roost.conf
from roost import exception
from roost.cmd import _options, _parts
from roost.rpc.transport import Bus
from tests.fakes import http_stub

DAEMONS = {
    "api": ["api_database"],
    "super_conductor": ["api_database"],
    "cell_conductor": ["cell_database"],
    "conductor": ["api_database", "cell_database"],
    "scheduler": ["scheduler_database"],
    "compute": [],
    "metadata": ["api_database"],
    "consoleproxy": ["api_database"],
}


def options(daemon, tmp_path, **default):
    """Name the daemon's databases, at places where there is nothing."""
    values = {
        group: {"connection": f"postgresql+psycopg://nobody@127.0.0.1:1/{group}"}
        for group in DAEMONS[daemon]
    }
    values["metadata"] = {"shared_secret": "secret"}
    values["DEFAULT"] = {"host": "here", "state_path": str(tmp_path), **default}
    values["api"] = {"auth_strategy": "noauth"}
    return roost.conf.of(values)


def build(daemon, conf):
    conf.set_override("transport_url", "rabbit://nobody@127.0.0.1:1/nowhere")
    return importlib.import_module(f"roost.cmd.{daemon}").build(conf)


@pytest.fixture
def conf_of(tmp_path):
    def conf_of(daemon):
        conf = options(daemon, tmp_path)
        Bus(conf, "fake://")  # makes oslo.messaging's own options known
        return conf

    return conf_of


@pytest.mark.parametrize("daemon", DAEMONS)
def test_it_is_built_without_connecting_or_writing(daemon, conf_of, tmp_path, monkeypatch):
    conf = conf_of(daemon)

    def refuse(*_):
        raise AssertionError("connected")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    built = build(daemon, conf)
    assert built.name == f"roost-{daemon.replace('_', '-')}"
    assert built.servers
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("daemon", "group"), [(daemon, group) for daemon in DAEMONS for group in DAEMONS[daemon]]
)
def test_a_database_that_is_not_named_is_asked_for_by_its_option(daemon, group, conf_of):
    conf = conf_of(daemon)
    conf.clear_override("connection", group=group)
    with pytest.raises(exception.Invalid, match=rf"\[{group}\] connection must be set"):
        build(daemon, conf)


def test_the_scheduler_bus_is_the_own_one_unless_another_is_named():
    conf = roost.conf.of({"scheduler": {"transport_url": "fake:///elsewhere"}})
    own = Bus(conf, "fake:///own")
    assert _parts.scheduler_bus(conf, own).name == "elsewhere"
    conf.clear_override("transport_url", group="scheduler")
    assert _parts.scheduler_bus(conf, own) is own


def test_signatures_need_a_secret(conf_of):
    conf = conf_of("metadata")
    conf.clear_override("shared_secret", group="metadata")
    with pytest.raises(exception.Invalid, match=r"\[metadata\] shared_secret must be set"):
        build("metadata", conf)
    conf.set_override("identify", "address", group="metadata")
    assert build("metadata", conf).servers


@pytest.mark.parametrize("text", ["[]", "{", None])
def test_vendor_data_that_cannot_be_read_is_named(text, conf_of, tmp_path):
    path = tmp_path / "vendor.json"
    if text is not None:
        path.write_text(text)
    conf = conf_of("compute")
    conf.set_override("vendor_data_file", str(path), group="guest_data")
    with pytest.raises(exception.Invalid, match=r"vendor_data_file .*vendor.json"):
        build("compute", conf)


def test_vendors_are_asked_where_the_options_say_so(conf_of):
    with http_stub.serving() as server:
        server.rules["POST /join"] = {"token": "t"}
        conf = conf_of("metadata")
        targets = [f"join@{server.url}/join"]
        conf.set_override("vendordata_dynamic_targets", targets, group="guest_data")
        assert _parts.vendors(conf)({}) == {}
        conf.set_override("vendordata_providers", ["DynamicJSON"], group="guest_data")
        assert _parts.vendors(conf)({}) == {"join": {"token": "t"}}
        assert _parts.operator(conf).vendor_data is None
        assert build("metadata", conf).servers


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("web", "/nowhere", r"\[console_proxy\] web must name a folder: '/nowhere'"),
        ("spice_web", "/nowhere", r"\[console_proxy\] spice_web must name a folder: '/nowhere'"),
        ("certificate_file", "/nowhere", r"\[console_proxy\] certificate_file must name a file"),
        ("key_file", "/nowhere", r"\[console_proxy\] certificate_file must name a file: ''"),
    ],
)
def test_files_of_the_console_proxy_that_are_not_there_are_named(conf_of, option, value, said):
    conf = conf_of("consoleproxy")
    conf.set_override(option, value, group="console_proxy")
    with pytest.raises(exception.Invalid, match=said):
        build("consoleproxy", conf)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://roost:secret@h/x", "mysql://roost:.*@h/x: MySQLdb is not installed"),
        ("postgresql+pg8000://roost:secret@h/x", "pg8000 is not installed; .*psycopg are"),
        ("oracle+moon://roost:secret@h/x", "no such kind of database, or driver"),
        ("roost:secret@h", "no URL of a database"),
    ],
)
def test_a_database_that_no_driver_can_reach_is_told_at_once(conf_of, url, why):
    conf = conf_of("scheduler")
    conf.set_override("connection", url, group="scheduler_database")
    with pytest.raises(
        exception.Invalid, match=rf"\[scheduler_database\] connection: .*{why}"
    ) as told:
        build("scheduler", conf)
    assert "secret" not in told.value.message


def test_a_library_that_options_need_and_is_not_installed_is_named(monkeypatch, conf_of, capsys):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    conf = conf_of("super_conductor")
    messaging.get_notification_transport(conf, url="fake://")  # makes its options known
    conf.set_override("transport_url", "kafka://h:9092", group="oslo_messaging_notifications")
    with pytest.raises(SystemExit, match="78"):
        _options.explained(lambda: build("super_conductor", conf))
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "these options cannot work: confluent_kafka is not installed: pip install 'roost[kafka]'"
    ]


@pytest.mark.parametrize(
    ("option", "why"), [("--use-journal", "systemd-python"), ("--log-config-append=/none", "/none")]
)
def test_logs_that_cannot_be_written_are_told_at_once(option, why):
    code = "import sys; from roost.cmd import _options; _options.load('roost-api', sys.argv[1:])"
    argv = [sys.executable, "-W", "ignore", "-c", code, option]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 78
    (line,) = ended.stderr.splitlines()
    assert line.startswith("roost-api: logs cannot be written: ")
    assert why in line
