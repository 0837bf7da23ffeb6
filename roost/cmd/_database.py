"""Opens the database that an option names, without connecting to it."""

from oslo_config import cfg

from roost import exception
from roost.db.engine import Database


def configured(conf: cfg.ConfigOpts, group: str) -> Database:
    """Return the database that a group of options names.

    :raises roost.exception.Invalid: when it does not, or its driver is not installed
    """
    url = conf[group].connection
    if not url:
        raise exception.Invalid(f"[{group}] connection must be set for this daemon")
    database = Database(url, connections=conf.rpc_threads)
    try:
        database.check_url()
    except exception.Invalid as error:
        raise exception.Invalid(f"[{group}] connection: {error.message}") from error
    return database
