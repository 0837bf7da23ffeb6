"""Options of the message buses."""

from oslo_config import cfg

GROUP = "bus"
OPTIONS = [
    cfg.FloatOpt(
        "echo_interval",
        default=5.0,
        min=0.1,
        help="Seconds between two messages by which a daemon finds out whether it hears: to each of"
        " its servers, and to its queue of answers. What is deaf twice in a row, while the broker"
        " takes messages, is opened anew. Longer where thousands of hosts share a broker.",
    ),
    cfg.ListOpt(
        "api_users",
        default=["api"],
        help="Users of the buses by which the API level's daemons come: roost-api,"
        " roost-super-conductor, roost-consoleproxy, roost-manage. Hosts obey them and their cell,"
        " schedulers let nobody else see or change other cells. All daemons are told the same. See"
        " doc/security.rst for the names of all other users.",
    ),
]
