"""Options of roost-api."""

from oslo_config import cfg

GROUP = "api"
OPTIONS = [
    cfg.HostAddressOpt(
        "listen",
        default="127.0.0.1",
        help="The address that roost-api serves, for the proxy before it: slow clients, connections"
        " of an address and TLS are that one's work.",
    ),
    cfg.PortOpt("port", default=8774, help="The port that roost-api serves."),
    cfg.IntOpt("threads", default=16, min=1, help="Requests that one worker serves at once."),
    cfg.IntOpt(
        "max_waiting",
        default=240,
        min=0,
        help="Requests that may wait in one worker until one of its threads has time for them."
        " Whoever comes when so many wait is told at once to try again (503, Retry-After). Raise it"
        " where many clients come at the same moment; each that waits takes a thread, too.",
    ),
    cfg.FloatOpt(
        "project_share",
        default=0.5,
        min=0.0,
        max=1.0,
        help="The part of the places of a worker (threads + max_waiting) that one project may have,"
        " of those that others leave. What goes beyond is told to try again (429, Retry-After), so"
        " a flood of a few leaves room for others. 1: all, where there is only one.",
    ),
    cfg.IntOpt(
        "max_request_body_size",
        default=114688,
        min=1024,
        help="Bytes of a request's body, at most; a longer one is refused (413). User data may have"
        " 64 KiB, so less than 100000 refuses servers that are meant.",
    ),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "Keystone, asked as [keystone_authtoken] says"),
            ("noauth", "everybody is who they say they are: for rigs and tests"),
        ],
        help="Who says who the caller is.",
    ),
    cfg.StrOpt(
        "daemon_names",
        default="nova",
        choices=[
            ("nova", "nova-compute, nova-conductor: what clients and dashboards look for"),
            ("roost", "roost-compute, roost-cell-conductor: as the daemons are called here"),
        ],
        help="What os-services, os-hosts and os-availability-zone call daemons. Requests may use"
        " either names.",
    ),
    cfg.IntOpt("max_limit", default=1000, min=1, help="Items in one page of a list, at most."),
    cfg.IntOpt(
        "max_instances_per_request",
        default=1000,
        min=1,
        help="Servers that one create request may ask for (max_count), whatever the quota.",
    ),
    cfg.BoolOpt(
        "enable_instance_password",
        default=True,
        help="Whether who creates a server is told its administrator's password (adminPass). Turn"
        " it off where hypervisors do not set it: a password that is not true only confuses.",
    ),
    cfg.BoolOpt(
        "list_records_by_skipping_down_cells",
        default=True,
        help="Whether lists of servers do without cells that cannot be reached, where nothing can"
        " be told of the servers there: in microversions before 2.69, and with filters, orders,"
        " limits and markers. Otherwise such lists fail (503). Turn it off where an incomplete list"
        " does more harm than none.",
    ),
    cfg.URIOpt(
        "public_url",
        help="The URL that links in answers begin with, when a proxy stands before roost-api.",
    ),
]
