"""Options of the super-conductors and cell-conductors."""

from oslo_config import cfg

GROUP = "conductor"
OPTIONS = [
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        help="Hosts that a server is tried on before it ends in ERROR.",
    ),
    cfg.FloatOpt(
        "lease_seconds",
        default=30.0,
        min=1,
        help="How long a super-conductor may work on a request before another may take it up.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=5.0,
        min=0.1,
        mutable=True,
        help="Seconds between two looks for requests that nobody works on.",
    ),
]
