"""Finds the service group that ``[servicegroup] driver`` names among the entry points."""

from oslo_config import cfg

from roost import plugins
from roost.servicegroup.driver import ServiceGroup

GROUP = "roost.servicegroup"


def load_group(conf: cfg.ConfigOpts, *, binary: str) -> ServiceGroup:
    """Make the configured service group, for one daemon.

    :param binary: the daemon's program, by which others know it together with its host
    :raises roost.exception.Invalid: when no entry point has that name, or its options cannot work
    """
    plugin = plugins.find(GROUP, conf.servicegroup.driver, option="[servicegroup] driver")
    group: ServiceGroup = plugin.from_conf(conf, binary=binary)
    return group
