"""Options of the message buses."""

from oslo_config import cfg

GROUP = "bus"
OPTIONS = [
    cfg.ListOpt(
        "api_users",
        default=["api"],
        help="Users of the buses by which the API level's daemons come: roost-api,"
        " roost-super-conductor, roost-consoleproxy, roost-manage. Hosts obey them and their cell,"
        " schedulers let nobody else see or change other cells. All daemons are told the same. See"
        " doc/security.rst for the names of all other users.",
    ),
]
