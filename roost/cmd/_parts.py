"""Parts that several daemons are made of, from their options. Nothing is connected yet."""

from oslo_config import cfg

from roost import exception
from roost.cells import Cells
from roost.db.engine import Database
from roost.rpc.transport import Bus


def database(conf: cfg.ConfigOpts, group: str) -> Database:
    """Return the database that a group of options names.

    :raises roost.exception.Invalid: when it does not
    """
    url = conf[group].connection
    if not url:
        raise exception.Invalid(f"[{group}] connection must be set for this daemon")
    return Database(url, connections=conf.rpc_threads)


def cells(conf: cfg.ConfigOpts, api_database: Database) -> Cells:
    """Return all cells, as the API level sees them."""
    return Cells(
        api_database,
        make_database=lambda url: Database(url, connections=conf.rpc_threads),
        make_bus=lambda url: Bus(conf, url),
    )


def scheduler_bus(conf: cfg.ConfigOpts, own: Bus) -> Bus:
    """Return the bus of the schedulers: the daemon's own unless an option names another."""
    url = conf.scheduler.transport_url
    return Bus(conf, url) if url else own
