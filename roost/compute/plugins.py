"""Finds the drivers that the options name among the entry points."""

from typing import Any

from oslo_config import cfg
from stevedore import driver as stevedore_driver
from stevedore import exception as stevedore_exception

from roost import exception
from roost.compute.network.driver import NetworkDriver
from roost.compute.virt.driver import VirtDriver
from roost.rpc.cell_conductor import CellConductor


def load_virt(conf: cfg.ConfigOpts) -> VirtDriver:
    """Make the driver that ``[compute] virt_driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = _find("roost.compute.virt", conf.compute.virt_driver, "[compute] virt_driver")
    driver: VirtDriver = plugin.from_conf(conf)
    return driver


def load_network(conf: cfg.ConfigOpts, conductor: CellConductor) -> NetworkDriver:
    """Make the driver that ``[network] driver`` names.

    :raises roost.exception.Invalid: when there is no such driver
    """
    plugin = _find("roost.compute.network", conf.network.driver, "[network] driver")
    driver: NetworkDriver = plugin.from_conf(conf, conductor)
    return driver


def _find(group: str, name: str, option: str) -> Any:
    try:
        return stevedore_driver.DriverManager(group, name).driver
    except stevedore_exception.NoMatches as error:
        raise exception.Invalid(
            f"{option} = {name}: no entry point of {group} has that name"
        ) from error
