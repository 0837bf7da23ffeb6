"""roost-api: the REST API. Any number of processes serve, behind a load balancer."""

from roost import concurrency

concurrency.select()

import dataclasses
import functools
import logging
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from roost import migrations, networks
from roost.api import admission
from roost.api.app import make_app
from roost.api.compute.service_views import NOVA_NAMES
from roost.api.dependencies import ApiOptions, Dependencies
from roost.api.keystone_auth import Keystone
from roost.api.middleware import Authentication, NoAuth
from roost.api.networking.driver import Networking, load_networking
from roost.api.policy import Policy
from roost.api.routes import OPEN_PATHS
from roost.cells import Cells
from roost.cells.host_breakers import HostBreakers
from roost.cmd import _checks, _database, _granian, _http, _options, _parts, _run, _wsgi_middleware
from roost.cmd._daemon import Closable, Daemon, Periodic
from roost.cmd._waiting import StartupCheck
from roost.db.engine import Database
from roost.hardware import pci_aliases
from roost.image.driver import load_hasty_store
from roost.objects import consoles
from roost.rpc.super_conductor import SuperConductor
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import load_group
from roost.standalone import tables
from roost.standalone.networking import LocalNetworking

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
    super_conductor, options = SuperConductor(bus), _api_options(conf)
    policy.load()
    parts = Dependencies(
        api_database=database,
        cells=cells,
        super_conductor=super_conductor,
        scheduler=SchedulerClient(scheduler_bus),
        images=load_hasty_store(conf),
        networks=networks.parse(conf.network.local_networks),
        networking=_networking(conf, database, cells, super_conductor),
        service_group=group,
        policy=policy,
        routes=tables.ROUTES,
        authentication=_authentication(conf, policy, listens=listens),
        executor=executor,
        options=options,
    )
    return Api(
        app=_wsgi_middleware.surrounded(conf, _gate(conf, parts)),
        checks=[_checks.schema(database, migrations.API)],
        open=functools.partial(_open, scheduler_bus, watch),
        stop=[watch.stop, executor.shutdown],
        closing=[cells, group, scheduler_bus, bus, database],
    )


def _networking(
    conf: cfg.ConfigOpts, database: Database, cells: Cells, super_conductor: SuperConductor
) -> Networking:
    driver = load_networking(conf)
    if not isinstance(driver, LocalNetworking):
        return driver
    return driver.with_database(database, cells, now=database.now, super_conductor=super_conductor)


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


def _api_options(conf: cfg.ConfigOpts) -> ApiOptions:
    return ApiOptions(
        max_limit=conf.api.max_limit,
        max_instances_per_request=conf.api.max_instances_per_request,
        max_request_body_size=conf.api.max_request_body_size,
        max_image_size=conf.image.max_size,
        public_url=conf.api.public_url,
        cell_timeout=conf.cells.timeout,
        skip_cells_away=conf.api.list_records_by_skipping_down_cells,
        instance_password=conf.api.enable_instance_password,
        keeps_deleted=conf.conductor.reclaim_instance_interval > 0,
        resizes_on_same_host=conf.api.allow_resize_to_same_host,
        quota=dict(conf.quota),
        verifies_images=conf.image.certificates is not None,
        console_seconds=conf.consoles.token_ttl,
        console_urls={
            consoles.VNC: conf.consoles.novnc_base_url,
            consoles.SPICE: conf.consoles.spice_base_url,
            consoles.SERIAL: conf.consoles.serial_base_url,
        },
        pci_aliases=pci_aliases.parse(conf.pci.alias),
        daemon_names=NOVA_NAMES if conf.api.daemon_names == "nova" else {},
        wants_content_type=conf.api.auth_strategy == "noauth",
        instance_name_template=conf.instance_name_template,
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
