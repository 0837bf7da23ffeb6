"""Options of the message buses."""

from oslo_config import cfg

GROUP = "bus"
OPTIONS = [
    cfg.ListOpt(
        "api_users",
        default=["api"],
        help="Users of the buses that the API level's daemons have: roost-api,"
        " roost-super-conductor, roost-consoleproxy, roost-manage. Hosts accept their messages and"
        " those of their cell, schedulers let no other users see or change other cells. All daemons"
        " need the same value. See doc/security.rst for the names of all other users.",
    ),
    cfg.ListOpt(
        "readers",
        default=[],
        help="Users of the schedulers' bus that other services have to follow the hosts: they may"
        " call what reads hosts and their changes, and nothing else. All daemons need the same"
        " value: doc/stream.",
    ),
]
