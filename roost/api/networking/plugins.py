"""Finds the API's side of the network driver that the option names among the entry points."""

from oslo_config import cfg

from roost import plugins
from roost.api.networking.driver import Networking

GROUP = "roost.api.networking"


def load_networking(conf: cfg.ConfigOpts) -> Networking:
    """Make the API's side of the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find(GROUP, conf.network.driver, option="[network] driver")
    driver: Networking = plugin.from_conf(conf)
    return driver
