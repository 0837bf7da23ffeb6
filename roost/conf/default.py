"""Options that every daemon has."""

import socket

from oslo_config import cfg

GROUP = "DEFAULT"
OPTIONS = [
    cfg.StrOpt(
        "concurrency",
        default="threading",
        choices=[
            ("threading", "native threads: the default, and faster under load"),
            ("eventlet", "green threads, for deployments that still need them"),
        ],
        help="The kind of threads of a daemon. Read once, before anything else, from the first"
        " configuration file that has it; a change requires a restart.",
    ),
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<the machine's host name>",
        help="The name of this daemon's host. For a compute it is the host of its servers, so it"
        " must be unique over all cells and never change.",
    ),
    cfg.StrOpt(
        "state_path",
        default="/var/lib/roost",
        help="The folder of all data that must survive a restart: the local image store, the fake"
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
        help="How many messages one process handles at once; also the most connections that it"
        " opens to one database, so the database must allow the sum over all daemons.",
    ),
    cfg.FloatOpt(
        "service_report_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Seconds between two heartbeats of a daemon, and between two liveness reports of a"
        " cell-conductor to the schedulers if nothing changes. Hosts report to the schedulers at"
        " every third heartbeat.",
    ),
    cfg.FloatOpt(
        "service_down_time",
        default=30.0,
        min=1,
        help="Seconds without a heartbeat after which a daemon counts as down. For schedulers a"
        " cell counts as down after twice as long without a report of its conductors, and a host"
        " after four times as long without a report. All daemons need the same value.",
    ),
]
