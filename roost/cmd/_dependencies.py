"""The dependencies of the API's handlers, from the options: for roost-api and for roost-manage."""

from concurrent import futures

from oslo_config import cfg

from roost import networks
from roost.api.compute.service_views import NOVA_NAMES
from roost.api.dependencies import ApiOptions, Dependencies
from roost.api.middleware import Authentication
from roost.api.networking.driver import Networking, load_networking
from roost.api.policy import Policy
from roost.cells import Cells
from roost.db.engine import Database
from roost.hardware import pci_aliases
from roost.image.driver import load_hasty_store
from roost.objects import consoles
from roost.rpc.super_conductor import SuperConductor
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import ServiceGroup
from roost.standalone import tables
from roost.standalone.networking import LocalNetworking


def dependencies(
    conf: cfg.ConfigOpts,
    *,
    api_database: Database,
    cells: Cells,
    super_conductor: SuperConductor,
    scheduler: SchedulerClient,
    service_group: ServiceGroup,
    policy: Policy,
    authentication: Authentication,
    executor: futures.Executor,
) -> Dependencies:
    """Return them, with the drivers and options of the configuration."""
    return Dependencies(
        api_database=api_database,
        cells=cells,
        super_conductor=super_conductor,
        scheduler=scheduler,
        images=load_hasty_store(conf),
        networks=networks.parse(conf.network.local_networks),
        networking=_networking(conf, api_database, cells, super_conductor),
        service_group=service_group,
        policy=policy,
        routes=tables.ROUTES,
        authentication=authentication,
        executor=executor,
        options=api_options(conf),
    )


def _networking(
    conf: cfg.ConfigOpts, database: Database, cells: Cells, super_conductor: SuperConductor
) -> Networking:
    driver = load_networking(conf)
    if not isinstance(driver, LocalNetworking):
        return driver
    return driver.with_database(database, cells, now=database.now, super_conductor=super_conductor)


def api_options(conf: cfg.ConfigOpts) -> ApiOptions:
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
