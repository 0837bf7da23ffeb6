"""Options of service groups: the liveness of daemons."""

from oslo_config import cfg

GROUP = "servicegroup"
OPTIONS = [
    cfg.StrOpt(
        "driver",
        default="db",
        help="The driver for the liveness of a cell's daemons: an entry point's name. db: by their"
        " heartbeats in the cell's database, without any other service. tooz: by their membership"
        " in a group of a coordination service, where the end of a daemon must be detected within"
        " seconds. All daemons of a cell need the same; [DEFAULT] service_down_time is how long a"
        " silent daemon counts as up.",
    ),
    cfg.StrOpt(
        "url",
        secret=True,
        help="For the tooz driver, the coordination service: redis://:PASSWORD@HOST:PORT,"
        " etcd3+http://HOST:PORT, memcached://HOST:PORT, or file:///FOLDER on a single machine. Its"
        " client must be installed: by roost[redis], roost[etcd] or roost[memcached].",
    ),
]
