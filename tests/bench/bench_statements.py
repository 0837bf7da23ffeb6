"""What one boot, stop, resize and so on costs in SQL statements, transactions and messages.

A rig with its databases in MariaDB, whose general log is read, on a RabbitMQ that ``rabbitmqctl``
may trace. Servers are changed one after the other, so nothing travels together that need not.

    roost-rig up --cells 1 --hosts 2 --bus amqp://guest:guest@127.0.0.1:5672 --db mariadb
    python -m tests.bench.bench_statements
    python -m tests.bench.bench_statements --verbose    # each transaction, each message

With ``--set conductor.reclaim_instance_interval=3600`` of the rig, soft deletes are counted, too.

What the rig does anyway (heartbeats, reports, sweeps) is watched first, and subtracted, by the
sequence of statements or by method; what is left of it is shown from half per server on. Statements
are without BEGIN and COMMIT; a ROLLBACK without a BEGIN counts. Transactions are those that may
write: reads need none. Figures are means per server. Reports, and judges nothing. The log is of the
whole database server: use it alone.
"""

import argparse
import collections
import contextlib
import itertools
import json
import pathlib
import re
import subprocess
import threading
import time

import kombu
import psutil
import sqlalchemy as sa

from roost import concurrency

concurrency.select([])

from roost.rig import boots
from roost.rig.boots import BootRequest
from roost.rig.client import Client
from roost.rig.install import IMAGE
from roost.rig.plan import Plan
from roost.rig.processes import Supervisor
from tests.bench import meters

SETTLE = 4.0  # seconds after the last server is at rest
_COLUMNS = ("statements", "transactions", "messages")
_BEGIN, _ENDS = "BEGIN", ("COMMIT", "ROLLBACK")
_VALUE = re.compile(r"'(?:[^'\\]|\\.|'')*'|\b\d+(?:\.\d+)?\b")
_LIST = re.compile(r"\((?:\?|NULL|, )+\)")
_ROWS = re.compile(r"(VALUES \(.*?\))(?:, ?\(.*?\))+", re.DOTALL)


class StatementLog:
    """Transactions of a rig's daemons, from MariaDB's general log.

    The log is switched on for the time of a block. It has a row per statement with the number of
    its connection, whose port tells the daemon.
    """

    def __init__(self, plan):
        self._engine = sa.create_engine(
            sa.make_url(plan.database).set(database="mysql"), isolation_level="AUTOCOMMIT"
        )
        self._users = {"users": f"roost_{plan.rig}_%"}

    def ask(self, statement, **values):
        with self._engine.connect() as connection:
            done = connection.execute(sa.text(statement), values)
            return list(done) if done.returns_rows else []

    @contextlib.contextmanager
    def recording(self):
        self.ask("SET GLOBAL log_output = 'TABLE'")
        self.ask("TRUNCATE mysql.general_log")
        self.ask("SET GLOBAL general_log = 1")
        try:
            yield
        finally:
            self.ask("SET GLOBAL general_log = 0")

    def transactions(self, programs):
        """Yield (program, statements without their values) of what was recorded.

        A transaction starts with its BEGIN; what is read without one is alone.

        :param programs: who is behind a local port
        """
        known = "SELECT id, host FROM information_schema.processlist WHERE user LIKE :users"
        ports = {
            thread: int(host.rpartition(":")[2]) for thread, host in self.ask(known, **self._users)
        }
        open_ones = collections.defaultdict(list)
        rows = self.ask(
            "SELECT thread_id, CAST(argument AS CHAR) FROM mysql.general_log"
            " WHERE command_type IN ('Query', 'Execute') AND user_host LIKE :users"
            " ORDER BY event_time",
            **self._users,
        )
        for thread, statement in rows:
            who = programs.get(ports.get(thread), "?")
            if statement == _BEGIN:
                open_ones[thread] = [_BEGIN]
            elif statement in _ENDS:
                yield who, tuple(open_ones.pop(thread, [statement]))
            elif thread in open_ones:
                open_ones[thread].append(_shape(statement))
            else:
                yield who, (_shape(statement),)


class Firehose:
    """Messages published on the buses of a rig, by RabbitMQ's tracing."""

    def __init__(self, plan):
        self._plan = plan
        self._bus = plan.bus.rstrip("/").replace("rabbit:", "amqp:", 1)
        self._seen = []
        self._stopping = threading.Event()

    @contextlib.contextmanager
    def recording(self):
        self._seen.clear()
        self._stopping.clear()
        ready = [threading.Event() for _ in self._plan.bus_levels]
        threads = [
            threading.Thread(target=self._listen, args=(self._plan.bus_name(level), event))
            for level, event in zip(self._plan.bus_levels, ready, strict=True)
        ]
        try:
            for thread in threads:
                thread.start()
            if not all(event.wait(30) for event in ready):
                raise SystemExit("no trace of the broker's messages")
            yield
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join()

    def messages(self, programs):
        """Yield (program, what) of each message that was recorded."""
        for connection, what in self._seen:
            yield programs.get(int(connection.split(" -> ")[0].rpartition(":")[2]), "?"), what

    def _listen(self, vhost, ready):
        control = ["rabbitmqctl", "--quiet"]
        with kombu.Connection(f"{self._bus}/{vhost}") as connection:
            trace = kombu.Exchange("amq.rabbitmq.trace", type="topic", no_declare=True)
            queue = kombu.Queue(
                "", trace, routing_key="publish.#", exclusive=True, auto_delete=True
            )
            with connection.Consumer(queue, on_message=self._note, no_ack=True):
                subprocess.run([*control, "trace_on", "-p", vhost], check=True, capture_output=True)
                ready.set()
                while not self._stopping.is_set():
                    with contextlib.suppress(TimeoutError):
                        connection.drain_events(timeout=0.5)
        subprocess.run([*control, "trace_off", "-p", vhost], check=True, capture_output=True)

    def _note(self, message):
        body = json.loads(message.body)
        inner = json.loads(body["oslo.message"]) if "oslo.message" in body else body
        topic = message.headers["routing_keys"][0].split(".")[0]
        what = inner.get("method") or inner.get("event_type")
        self._seen.append(
            (message.headers["connection"], f"{topic}: {what}" if what else "a reply")
        )


class Counter:
    """Counts what happens while a piece of work is done."""

    def __init__(self, plan):
        self._plan = plan
        self._log, self._firehose = StatementLog(plan), Firehose(plan)
        self.ask = self._log.ask

    def watch(self, work):
        """Return (transactions, messages, seconds), by program and shape."""
        began = time.monotonic()
        with self._firehose.recording(), self._log.recording():
            work()
            programs = _programs(self._plan)
            seconds = time.monotonic() - began
        transactions = collections.Counter(self._log.transactions(programs))
        return transactions, collections.Counter(self._firehose.messages(programs)), seconds


def main():
    asked = _arguments()
    plan = Plan.load(asked.state.resolve())
    counter, client = Counter(plan), Client(plan.endpoint)
    boots.delete_all(client, timeout=600, show=lambda _left: None)
    idle = counter.watch(lambda: time.sleep(asked.idle))
    print(f"{asked.servers} servers, one after the other; {plan.database_host}, {plan.bus_host}")
    for name, work in _actions(counter, plan, client, asked.servers, asked.networks):
        _report(name, counter.watch(work), idle, asked)


def _actions(counter, plan, client, servers, networks):
    """Yield the name of each action, and what does it to all servers.

    :param networks: of the servers: ``none`` or ``auto``
    """
    flavors, image = client.flavors(), boots.choose(client.images(), IMAGE, "image")
    tiny, small = (boots.choose(flavors, name, "flavor") for name in ("m1.tiny", "m1.small"))
    request = BootRequest(flavor=tiny, image=image, networks=networks, prefix="bench")
    everyone = []

    def boot():
        for number in range(servers):
            everyone.extend(client.create_servers(request.body(f"bench-{number}")))
            _await(counter, plan, everyone[-1], "active")
        time.sleep(SETTLE)

    def each(do, state):
        for server in everyone:
            do(server)
            _await(counter, plan, server, state)
        time.sleep(SETTLE)

    def act(state, **body):
        return lambda: each(lambda server: client.act(server, body), state)

    def attach(server):
        client.post(f"/servers/{server}/os-interface", {"interfaceAttachment": {}})

    def detach(server):
        client.delete(f"/servers/{server}/os-interface/{ports[server][0]['port_id']}")

    yield "boot", boot
    yield "stop", act("stopped", **{"os-stop": None})
    yield "start", act("active", **{"os-start": None})
    yield "resize", act("resized", resize={"flavorRef": small})
    yield "confirm", act("active", confirmResize=None)
    yield "attach an interface", lambda: each(attach, "active")
    ports = {  # nobody counts what happens between two actions
        server: client.get(f"/servers/{server}/os-interface")["interfaceAttachments"]
        for server in everyone
    }
    yield "detach an interface", lambda: each(detach, "active")
    if plan.overrides.get("conductor", {}).get("reclaim_instance_interval"):
        yield "soft delete", lambda: each(client.delete_server, "soft-delete")
        yield "restore", act("active", restore=None)
        yield "forced delete", act("deleted", forceDelete=None)
    else:
        yield "delete", lambda: each(client.delete_server, "deleted")


def _await(counter, plan, server, state):
    """Wait until a server has a state and no task, by looks at its cell that nobody counts."""
    rest = [f"SELECT 1 FROM {plan.database_name(cell)}.instances" for cell in plan.cell_names]
    at_rest = "deleted_at IS NOT NULL" if state == "deleted" else "vm_state = :state"
    where = f" WHERE uuid = :uuid AND task_state IS NULL AND {at_rest}"
    for _ in range(600):
        if any(counter.ask(one + where, uuid=server, state=state) for one in rest):
            return
        time.sleep(0.1)
    raise SystemExit(f"server {server} is not {state} after 60 s")


def _report(name, seen, idle, asked):
    transactions, messages = (
        _without(seen[kind], idle[kind], seen[2] / idle[2], asked.servers) for kind in (0, 1)
    )
    totals = collections.defaultdict(lambda: [0, 0, 0])
    for (program, statements), number in transactions.items():
        for who in (program, "all"):
            totals[who][0] += number * sum(one != _BEGIN for one in statements)
            totals[who][1] += number * (statements[0] == _BEGIN)
    for (program, _what), number in messages.items():
        for who in (program, "all"):
            totals[who][2] += number
    rows = [
        {"": who} | dict(zip(_COLUMNS, (round(number, 1) for number in numbers), strict=True))
        for who, numbers in sorted(totals.items(), key=lambda item: item[0] != "all")
    ]
    meters.table(name, rows)
    if asked.verbose:
        _list(transactions, messages)


def _list(transactions, messages):
    for (program, statements), number in transactions.items():
        print(f"\n{number:.1f} x {program}")
        for statement in statements:
            print(f"    {statement[:160]}")
    print()
    for (program, what), number in messages.items():
        print(f"{number:.1f} x {program} sends {what}")


def _without(seen, idle, length, servers):
    """Return what was seen per server, without what happens anyway in that time."""
    each = {what: (seen[what] - idle[what] * length) / servers for what in seen}
    return {what: number for what, number in each.items() if what not in idle or number >= 0.5}


def _shape(statement):
    """Return a statement without its values, and with one row where it has several."""
    shape = _LIST.sub("(…)", _VALUE.sub("?", " ".join(statement.split())))
    return _ROWS.sub(r"\1", shape)


def _programs(plan):
    """Return which of the rig's programs is behind which local port."""
    programs = {daemon.name: daemon.program for daemon in plan.daemons}
    found = {}
    for process in Supervisor(plan.rig, plan.state).list_processes():
        parent = psutil.Process(process.pid)
        for one in itertools.chain([parent], parent.children(recursive=True)):
            for connection in one.net_connections("tcp"):
                found[connection.laddr.port] = programs[process.name]
    return found


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="servers", type=int, default=10)
    parser.add_argument("--networks", default="none", help="none or auto")
    parser.add_argument("--idle", type=float, default=60, help="seconds to watch the rig at rest")
    parser.add_argument("--verbose", action="store_true", help="list transactions and messages")
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".rig"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
