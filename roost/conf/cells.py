"""Options of cells: how long api and super-conductors wait for any of them."""

from oslo_config import cfg

GROUP = "cells"
OPTIONS = [
    cfg.FloatOpt(
        "timeout",
        default=5.0,
        min=0.5,
        help="Seconds that a cell's database may take for a connection or for the answer to a"
        " statement, and a cell's broker for a connection. After a failure or a longer wait the"
        " cell counts as unavailable: each process skips it until it answers again. Lower it where"
        " users must not notice outages for long; raise it where databases are slow, or cells are"
        " remote. [conductor] task_lease_seconds must be several times as long.",
    ),
]
