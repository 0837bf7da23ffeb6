"""How long api and super-conductors wait for a cell that may be unavailable: of every cell."""

from oslo_config import cfg

GROUP = "cells"
OPTIONS = [
    cfg.FloatOpt(
        "timeout",
        default=5.0,
        min=0.5,
        help="Seconds that a cell's database may take for a connection or for the answer to a"
        " statement, and a cell's broker for a greeting. What fails or takes longer is away: each"
        " process does without it until it answers again. Lower it where users must not notice"
        " for long; raise it where databases are slow, or cells far away. [conductor] lease_seconds"
        " must be several times as long.",
    ),
    cfg.FloatOpt(
        "watch_interval",
        default=5.0,
        min=0.5,
        help="Seconds between two looks of each process whether the database and the bus of every"
        " cell answer, so that no request is the first to wait for one that does not. Raise it"
        " where thousands of processes look at a cell.",
    ),
    cfg.FloatOpt(
        "boot_patience",
        default=60.0,
        min=0,
        help="Seconds for which a server that fits nowhere else waits for cells that are away;"
        " then it ends in ERROR. Raise it where a server that comes late is better than none.",
    ),
]
