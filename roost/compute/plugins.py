"""Finds the drivers that the options name among the entry points."""

from oslo_config import cfg

from roost import plugins
from roost.compute.network.driver import NetworkDriver
from roost.compute.virt.driver import VirtDriver
from roost.rpc.cell_conductor import CellConductor


def load_virt(conf: cfg.ConfigOpts) -> VirtDriver:
    """Make the driver that ``[compute] virt_driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find(
        "roost.compute.virt", conf.compute.virt_driver, option="[compute] virt_driver"
    )
    driver: VirtDriver = plugin.from_conf(conf)
    return driver


def load_network(conf: cfg.ConfigOpts, conductor: CellConductor) -> NetworkDriver:
    """Make the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = plugins.find("roost.compute.network", conf.network.driver, option="[network] driver")
    driver: NetworkDriver = plugin.from_conf(conf, conductor)
    return driver
