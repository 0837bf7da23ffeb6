"""The smallest daemon that there can be: one interface, one database, a periodic.

Run as a process by the tests of a daemon's life: ``python -m tests.integration.echo_daemon``.
"""

from roost import concurrency

if __name__ == "__main__":
    concurrency.select()

import logging
import os
import sys
import time

from roost.cmd import _checks, _options
from roost.cmd._daemon import Daemon, Periodic, RpcServer
from roost.cmd._run import run
from roost.db.engine import Database
from roost.rpc import interface
from roost.rpc.transport import Bus

LOG = logging.getLogger("roost.echo")


class Echo(interface.Interface):
    topic = "echo"
    version = "1.0"

    @interface.call(since="1.0", timeout=20)
    def echo(self, context, *, text: str, seconds: float = 0) -> dict: ...


class EchoManager:
    def __init__(self):
        self.ticks = 0

    def tick(self):
        self.ticks += 1

    def echo(self, context, *, text: str, seconds: float = 0) -> dict:
        LOG.info("begins %s", text)
        LOG.debug("at the debug level")
        time.sleep(seconds)
        return {"text": text, "pid": os.getpid(), "mode": mode(), "ticks": self.ticks}


def mode():
    """Say what is patched, rather than what was asked for."""
    patcher = sys.modules.get("eventlet.patcher")
    return "eventlet" if patcher and patcher.is_monkey_patched("thread") else "threading"


def build(conf):
    bus = Bus(conf)
    database = Database(conf.scheduler_database.connection)
    manager = EchoManager()
    return Daemon(
        "echo",
        checks=[_checks.schema(database, "scheduler"), _checks.broker(conf, None)],
        servers=[RpcServer(bus, Echo, manager, name=conf.host, threads=8)],
        periodics=[Periodic(0.1, manager.tick, "tick")],
        closing=[bus, database],
    )


if __name__ == "__main__":
    run(_options.load("echo"), build)
