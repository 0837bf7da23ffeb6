"""Finds the image store that ``[image] store`` names among the entry points."""

from oslo_config import cfg

from roost import plugins
from roost.image.driver import ImageStore, OutsideImageStore

GROUP = "roost.image"


def load_store(conf: cfg.ConfigOpts) -> ImageStore:
    """Make the configured image store.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    plugin = plugins.find(GROUP, conf.image.store, option="[image] store")
    store: ImageStore = plugin.from_conf(conf)
    return store


def load_hasty_store(conf: cfg.ConfigOpts) -> ImageStore:
    """Make the same for who has users waiting: see :class:`roost.image.driver.OutsideImageStore`.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    store = load_store(conf)
    return store.hasty() if isinstance(store, OutsideImageStore) else store
