"""Options that every daemon has."""

import socket
from typing import Any, Final

from oslo_config import cfg, types

GROUP = "DEFAULT"
_MAX_NAME: Final = 200  # what a hypervisor makes of a name, such as that of a log, is longer


class NameTemplate(types.String):
    """A template of guests' names by which no two servers have the same name."""

    def __call__(self, value: Any) -> str:
        text, uuid = str(value), "00000000-0000-4000-8000-000000000000"
        try:
            name = text % {"uuid": uuid, "hostname": "h" * 63}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"it can have %(uuid)s and %(hostname)s; servers have no number or else ({error})"
            ) from error
        if uuid not in name:
            raise ValueError("it must have %(uuid)s, or servers would have one name")
        if "/" in name or not name.isprintable() or len(name) > _MAX_NAME:
            raise ValueError(f"names have at most {_MAX_NAME} printable characters, and no slash")
        return text


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
    cfg.Opt(
        "instance_name_template",
        type=NameTemplate(),
        default="instance-%(uuid)s",
        help="How hypervisors name the guests of new servers, as roost-api reads it and shows it to"
        " administrators (OS-EXT-SRV-ATTR:instance_name). It has %(uuid)s, and may have"
        " %(hostname)s. A server keeps its name when this changes. Set it where monitoring or"
        " scripts expect other names; servers have no number for the %x or %d of other clouds.",
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
        " every third heartbeat; after a change at once, but not twice in half this time.",
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
