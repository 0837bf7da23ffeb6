"""The HTTP servers that roost-api runs on, each with an API behind it."""

import contextlib
import socket

from roost import conf, migrations
from roost.cmd import api
from roost.db.engine import Database
from tests.fakes.processes import DaemonProcess
from tests.parts import second

KINDS = ("granian", second("eventlet"), "in this process")


@contextlib.contextmanager
def serving(kind, folder, **groups):
    """Serve an API with ``noauth``; yield its address and port.

    :param groups: more options, by group
    """
    options = {
        "DEFAULT": {"transport_url": "fake://http/", "state_path": folder},
        "api": {"port": free_port(), "auth_strategy": "noauth"},
        "api_database": {"connection": _database(folder)},
    }
    for group, values in groups.items():
        options.setdefault(group, {}).update(values)
    serve = _in_this_process if kind == "in this process" else _in_a_process
    with serve(kind, options, folder):
        yield "127.0.0.1", options["api"]["port"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _database(folder):
    url = f"sqlite:///{folder}/api.sqlite"
    made = Database(url)
    migrations.sync(made, migrations.API)
    made.close()
    return url


@contextlib.contextmanager
def _in_a_process(kind, options, folder):
    options["DEFAULT"]["concurrency"] = "eventlet" if kind == "eventlet" else "threading"
    daemon = DaemonProcess("roost-api", _written(options, folder), folder / "log")
    try:
        daemon.manager.wait_for("READY=1")
        yield
        assert "Traceback" not in daemon.log
    finally:
        daemon.end()


@contextlib.contextmanager
def _in_this_process(_kind, options, folder):
    daemon = api.build(conf.load([], files=[str(_written(options, folder))]))
    daemon.start()
    try:
        yield
    finally:
        daemon.stop(5)


def _written(options, folder):
    lines = [
        line
        for group, values in options.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in values.items()))
    ]
    file = folder / "roost.conf"
    file.write_text("\n".join(lines))
    return file
