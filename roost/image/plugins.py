"""Finds the image store that ``[image] store`` names among the entry points."""

from typing import Any

from oslo_config import cfg
from stevedore import driver as stevedore_driver
from stevedore import exception as stevedore_exception

from roost import exception
from roost.image.driver import ImageStore

GROUP = "roost.image"


def load_store(conf: cfg.ConfigOpts) -> ImageStore:
    """Make the configured image store.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    name = conf.image.store
    try:
        plugin: Any = stevedore_driver.DriverManager(GROUP, name).driver
    except stevedore_exception.NoMatches as error:
        raise exception.Invalid(
            f"[image] store = {name}: no entry point of {GROUP} has that name"
        ) from error
    store: ImageStore = plugin.from_conf(conf)
    return store
