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
        "task_lease_seconds",
        default=30.0,
        min=1,
        help="How long a super-conductor may work on a request before another may take it up, and a"
        " host on a server without saying so again, before the cell-conductors take the work from"
        " it; a host that cannot say so stops its builds in time. The computes learn it from them."
        " Shorter where servers must be built elsewhere soon; longer where buses or databases are"
        " away for longer and builds are to outlast that. See doc/recovery.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=5.0,
        min=0.1,
        mutable=True,
        help="Seconds between two looks for requests and tasks that nobody works on.",
    ),
    cfg.IntOpt(
        "reclaim_instance_interval",
        default=0,
        min=0,
        help="Seconds for which a server that its user has deleted is kept, stopped, so that it can"
        " be restored; then a super-conductor deletes it for good. 0: it is deleted at once, and"
        " what is kept already stays until somebody restores or deletes it. Give roost-api and the"
        " super-conductors the same value. What is kept needs its place on its host, but no quota.",
    ),
    cfg.IntOpt(
        "purge_after",
        default=0,
        min=0,
        help="Seconds after which a super-conductor removes servers that were deleted for good,"
        " with all that is known of them: from the cells, then from the API's database. 0: never;"
        " use roost-manage db purge. Not before whoever bills has read their usage, and what"
        " changed, from the API. 2592000 is thirty days.",
    ),
    cfg.StrOpt(
        "purge_archive",
        help="A folder that gets the rows of servers before they are removed, as JSON lines, a file"
        " for each cell and day. Unset: nothing keeps them.",
    ),
]
