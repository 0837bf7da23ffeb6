"""Options of service groups: how daemons are known to be alive."""

from oslo_config import cfg

GROUP = "servicegroup"
OPTIONS = [
    cfg.StrOpt(
        "driver",
        default="db",
        help="How the daemons of a cell are known to be alive: an entry point's name. db: by their"
        " heartbeats in the cell's database, and nothing else has to run. tooz: by their membership"
        " in a group that a coordination service keeps, where the end of a daemon must be seen"
        " within seconds. All daemons of a cell need the same; how long a silent one counts as up"
        " is [DEFAULT] service_down_time.",
    ),
    cfg.StrOpt(
        "url",
        secret=True,
        help="For the tooz driver, the coordination service: redis://:PASSWORD@HOST:PORT,"
        " memcached://HOST:PORT, etcd3+http://HOST:PORT, zookeeper://HOST:PORT, or file:///FOLDER"
        " on a single machine. The client of that service must be installed, for Redis by"
        " roost[redis].",
    ),
]
