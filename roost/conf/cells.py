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
        " for long; raise it where databases are slow, or cells far away. [conductor]"
        " task_lease_seconds must be several times as long.",
    ),
]
