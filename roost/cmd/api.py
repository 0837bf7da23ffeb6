"""roost-api: the REST API. Any number of processes serve, behind a load balancer."""

from roost import concurrency

concurrency.select()

import dataclasses
import functools
import logging
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from roost import migrations
from roost.api import admission
from roost.api.app import make_app
from roost.api.dependencies import Dependencies
from roost.api.keystone_auth import Keystone
from roost.api.middleware import Authentication, NoAuth
from roost.api.policy import Policy
from roost.api.routes import OPEN_PATHS
from roost.cells.host_breakers import HostBreakers
from roost.cmd import (
    _checks,
    _database,
    _dependencies,
    _granian,
    _http,
    _options,
    _parts,
    _run,
    _wsgi_middleware,
)
from roost.cmd._daemon import Closable, Daemon, Periodic
from roost.cmd._waiting import StartupCheck
from roost.rpc.super_conductor import SuperConductor
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import load_group
from roost.standalone import tables

LOG = logging.getLogger(__name__)
NAME = "roost-api"


@dataclasses.dataclass(frozen=True)
class Api:
    """The application and its resources."""

    app: admission.Wsgi
    checks: Sequence[StartupCheck]
    open: Callable[[], None]
    stop: Sequence[Callable[[], None]]
    closing: Sequence[Closable]


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble an API that serves in this process."""
    api = put_together(conf)
    server = _http.in_process(
        api.app,
        host=str(conf.api.listen),
        port=conf.api.port,
        threads=admission.threads(conf.api.threads, conf.api.max_waiting),
    )
    return Daemon(
        NAME,
        checks=api.checks,
        on_start=[StartupCheck("the reply queues", api.open)],
        servers=[server],
        on_stop=api.stop,
        closing=api.closing,
    )


def put_together(conf: cfg.ConfigOpts, *, listens: bool = True) -> Api:
    """Make the application, its startup checks and resources.

    :param listens: on the address of the options; False: in another server, on an unknown address
    """
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    database = _database.configured(conf, "api_database")
    cells = _parts.cells(conf, database, HostBreakers(begin=admission.leave_turn))
    watch = _parts.watch(cells)
    executor = concurrency.executor(conf.api.threads)
    group = load_group(conf, binary=NAME)
    policy = Policy(conf, tables.list_rules())
    policy.load()
    parts = _dependencies.dependencies(
        conf,
        api_database=database,
        cells=cells,
        super_conductor=SuperConductor(bus),
        scheduler=SchedulerClient(scheduler_bus),
        service_group=group,
        policy=policy,
        authentication=_authentication(conf, policy, listens=listens),
        executor=executor,
    )
    return Api(
        app=_wsgi_middleware.surrounded(conf, _gate(conf, parts)),
        checks=[_checks.schema(database, migrations.API)],
        open=functools.partial(_open, scheduler_bus, watch),
        stop=[watch.stop, executor.shutdown],
        closing=[cells, group, scheduler_bus, bus, database],
    )


def _open(scheduler_bus: Bus, watch: Periodic) -> None:
    scheduler_bus.expect_replies()
    watch.start()


def _authentication(conf: cfg.ConfigOpts, policy: Policy, *, listens: bool) -> Authentication:
    if conf.api.auth_strategy == "noauth":
        _warn_of_strangers(str(conf.api.listen) if listens else None)
        return NoAuth()
    return Keystone(conf, policy=policy, open_paths=OPEN_PATHS)


def _warn_of_strangers(host: str | None) -> None:
    """Warn of an API without authentication that other machines may reach.

    :param host: the address that it listens on; None: unknown
    """
    if host is None:
        LOG.warning(
            "[api] auth_strategy is noauth: every client that reaches the address of this server is"
            " an administrator. Set auth_strategy to keystone, or let it listen to 127.0.0.1."
        )
    elif not _checks.is_loopback(host):
        LOG.warning(
            "[api] auth_strategy is noauth and listen is %s: every client that reaches that address"
            " is an administrator. Set auth_strategy to keystone, or listen to 127.0.0.1.",
            host,
        )


def _gate(conf: cfg.ConfigOpts, parts: Dependencies) -> admission.Admission:
    return admission.Admission(
        make_app(parts),
        at_once=conf.api.threads,
        waiting=conf.api.max_waiting,
        share=conf.api.project_share,
        callers=parts.authentication,
    )


def app_of(arguments: Sequence[str], *, listens: bool = True) -> admission.Wsgi:
    """Read a command line and return a working application, for a server's worker.

    :param listens: as of :func:`put_together`
    """
    api = put_together(_options.load(NAME, arguments), listens=listens)
    api.open()
    return api.app


def main() -> None:
    arguments = sys.argv[1:]
    conf = _options.load(NAME, arguments)
    if concurrency.selected() == concurrency.EVENTLET:
        _run.run(conf, build)
    api = _options.explained(lambda: put_together(conf))
    _granian.run(
        conf,
        name=NAME,
        make_app=functools.partial(app_of, arguments),
        checks=api.checks,
        closing=api.closing,
    )
