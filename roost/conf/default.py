"""Options that every daemon has."""

import socket

from oslo_config import cfg

GROUP = "DEFAULT"
OPTIONS = [
    cfg.StrOpt(
        "concurrency",
        default="threading",
        choices=[
            ("threading", "native threads: the default, and ahead under load"),
            ("eventlet", "green threads, for those who still need them"),
        ],
        help="How a daemon does many things at once. Read once, before anything else, from the"
        " first configuration file that has it; changing it takes a restart.",
    ),
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<the machine's host name>",
        help="The name of this daemon's host. For a compute it is the name that servers are placed"
        " under, so it must be unique over all cells and never change.",
    ),
    cfg.StrOpt(
        "state_path",
        default="/var/lib/roost",
        help="Where daemons keep what must survive a restart: the local image store, the fake"
        " hypervisor's guests, caches.",
    ),
    cfg.IntOpt(
        "workers",
        default=1,
        min=1,
        help="How many processes a daemon runs. More than one lets api, conductors and schedulers"
        " use more cores; a compute always has one.",
    ),
    cfg.IntOpt(
        "rpc_threads",
        default=16,
        min=1,
        help="How many messages one process works on at once; also the most connections that it"
        " opens to one database, so the database must allow the sum over all daemons.",
    ),
    cfg.FloatOpt(
        "service_report_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Seconds between two signs of life of a daemon, and between two messages of a"
        " cell-conductor to the schedulers which hosts are up, though nothing changes. Hosts report"
        " to them every third time.",
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=30.0,
        min=1,
        help="Seconds without a sign of life after which a daemon counts as down. For schedulers a"
        " cell does whose conductors have said nothing for twice as long, and a host that has not"
        " reported for four times as long. All daemons are told the same.",
    ),
]
