"""Creates components of several daemons from their options, without connecting them."""

import json
import pathlib
from typing import Final

from oslo_config import cfg

from roost import exception
from roost.cells import CallLimits, Cells
from roost.cells.host_breakers import HostBreakers
from roost.cmd._daemon import Periodic
from roost.db.engine import Database
from roost.external.vendor_data import VendorServices
from roost.guestdata import Operator, vendor_data
from roost.guestdata.vendor_data import Vendors
from roost.rpc.transport import Bus

_STATIC: Final = "StaticJSON"
_PROBES: Final = 5.0  # seconds between two probes of all cells
_DYNAMIC: Final = "DynamicJSON"


def cells(conf: cfg.ConfigOpts, api_database: Database, hosts: HostBreakers | None = None) -> Cells:
    """Return all cells, for the API level.

    :param hosts: guards the calls that wait for hosts
    """
    limits = CallLimits(timeout=conf.cells.timeout, concurrency=conf.rpc_threads)
    return Cells(
        api_database,
        make_database=lambda url: Database(
            url,
            connections=limits.concurrency,
            connect_timeout=limits.timeout,
            answer_timeout=limits.timeout,
        ),
        make_bus=lambda url: Bus(conf, url),
        limits=limits,
        hosts=hosts,
        task_seconds=conf.conductor.task_lease_seconds,
    )


def watch(cells: Cells) -> Periodic:
    """Return the task that probes all cells."""
    return Periodic(_PROBES, cells.probe, "cells")


def scheduler_bus(conf: cfg.ConfigOpts, own: Bus) -> Bus:
    """Return the bus of the schedulers: the daemon's own unless an option names another."""
    url = conf.scheduler.transport_url
    return Bus(conf, url) if url else own


def operator(conf: cfg.ConfigOpts) -> Operator:
    """Return the operator's data for all guests.

    :raises roost.exception.Invalid: when the file of vendor data is missing or no JSON object
    """
    if _STATIC not in conf.guest_data.vendordata_providers:
        return Operator(domain=conf.guest_data.dhcp_domain, vendor_data=None)
    path = conf.guest_data.vendor_data_file
    try:
        static = json.loads(pathlib.Path(path).read_text()) if path else {}
    except (OSError, ValueError) as error:
        raise exception.Invalid(f"[guest_data] vendor_data_file {path}: {error}") from error
    if not isinstance(static, dict):
        raise exception.Invalid(f"[guest_data] vendor_data_file {path} is no JSON object")
    return Operator(domain=conf.guest_data.dhcp_domain, vendor_data=static)


def vendors(conf: cfg.ConfigOpts) -> Vendors:
    """Return the function that asks the dynamic vendor data services about a guest.

    :raises roost.exception.Invalid: when a target is malformed
    """
    if _DYNAMIC not in conf.guest_data.vendordata_providers:
        return vendor_data.no_services
    return VendorServices.from_conf(conf).ask
