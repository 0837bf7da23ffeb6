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
        help="Seconds of the lease of a super-conductor on a request, after which another one may"
        " continue it, and of the lease of a host on a server, after which the cell-conductors"
        " reschedule the work; a host that cannot renew it stops its builds in time."
        " Cell-conductors send it to the computes. Shorter where servers must be built elsewhere"
        " soon; longer where builds are to survive longer outages of buses or databases. See"
        " doc/recovery.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=5.0,
        min=0.1,
        mutable=True,
        help="Seconds between two searches for requests and tasks without a lease.",
    ),
    cfg.IntOpt(
        "reclaim_instance_interval",
        default=0,
        min=0,
        help="Seconds that a server stays soft-deleted, stopped, so that its user can restore it;"
        " then a super-conductor deletes it for good. 0: servers are deleted at once, and those"
        " that are soft-deleted already stay until they are restored or deleted. Give roost-api and"
        " the super-conductors the same value. Soft-deleted servers use their host, but no quota.",
    ),
    cfg.IntOpt(
        "purge_after",
        default=0,
        min=0,
        help="Seconds after which a super-conductor removes servers that were deleted for good,"
        " with all their rows: from the cells, then from the API's database. 0: never; use"
        " roost-manage db purge. Set it longer than your billing takes to read usage and changes"
        " from the API. 2592000 is thirty days.",
    ),
    cfg.StrOpt(
        "purge_archive",
        help="A folder for the rows of servers before they are removed, as JSON lines, a file for"
        " each cell and day. Unset: they are not archived.",
    ),
]
