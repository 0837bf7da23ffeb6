"""roost-api: the REST API. Any number serve, behind whatever balances them."""

from roost import concurrency

concurrency.select()

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from roost import migrations, networks
from roost.api.app import make_app
from roost.api.parts import Options, Parts
from roost.api.policy import Policy
from roost.cmd import _checks, _granian, _http, _options, _parts, _run
from roost.cmd._daemon import Closable, Daemon
from roost.cmd._http import Wsgi
from roost.cmd._waiting import Check
from roost.image.plugins import load_store
from roost.rpc.super_conductor import SuperConductor
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient

NAME = "roost-api"


@dataclasses.dataclass(frozen=True)
class Api:
    """The application, and what it stands on."""

    app: Wsgi
    checks: Sequence[Check]
    open: Callable[[], None]
    stop: Callable[[], None]
    closing: Sequence[Closable]


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Put an API together that serves in this process."""
    api = put_together(conf)
    server = _http.in_process(
        api.app, host=str(conf.api.listen), port=conf.api.port, threads=conf.api.threads
    )
    return Daemon(
        NAME,
        checks=api.checks,
        on_start=[Check("the way for answers", api.open)],
        servers=[server],
        on_stop=[api.stop],
        closing=api.closing,
    )


def put_together(conf: cfg.ConfigOpts) -> Api:
    """Make the application and name what it needs."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    database = _parts.database(conf, "api_database")
    cells = _parts.cells(conf, database)
    executor = concurrency.executor(conf.api.threads)
    policy = Policy(conf)
    policy.load()
    parts = Parts(
        api_database=database,
        cells=cells,
        super_conductor=SuperConductor(bus),
        scheduler=SchedulerClient(scheduler_bus),
        images=load_store(conf),
        networks=networks.parse(conf.network.local_networks),
        policy=policy,
        executor=executor,
        options=_api_options(conf),
    )
    return Api(
        app=make_app(parts),
        checks=[_checks.schema(database, migrations.API)],
        open=scheduler_bus.expect_replies,
        stop=executor.shutdown,
        closing=[cells, scheduler_bus, bus, database],
    )


def _api_options(conf: cfg.ConfigOpts) -> Options:
    return Options(
        max_limit=conf.api.max_limit,
        max_instances_per_request=conf.api.max_instances_per_request,
        public_url=conf.api.public_url,
        auth_strategy=conf.api.auth_strategy,
        quota={name: conf.quota[name] for name in ("instances", "cores", "ram")},
        service_down_time=conf.service_down_time,
    )


def app_of(arguments: Sequence[str]) -> Wsgi:
    """Read a command line and return a working application: what a server's worker calls."""
    api = put_together(_options.load(NAME, arguments))
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
