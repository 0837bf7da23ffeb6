"""Options of roost-api."""

from oslo_config import cfg

GROUP = "api"
OPTIONS = [
    cfg.HostAddressOpt(
        "listen",
        default="127.0.0.1",
        help="The address that roost-api listens on, for the proxy before it: that handles slow"
        " clients, TLS and limits of connections.",
    ),
    cfg.PortOpt("port", default=8774, help="The port that roost-api listens on."),
    cfg.IntOpt("threads", default=16, min=1, help="Requests that one worker serves at once."),
    cfg.IntOpt(
        "max_waiting",
        default=240,
        min=0,
        help="Requests that may wait in one worker for one of its threads. Further requests are"
        " refused at once (503, Retry-After). Raise it where many clients send requests at the same"
        " moment; each waiting request takes a thread, too.",
    ),
    cfg.FloatOpt(
        "project_share",
        default=0.5,
        min=0.0,
        max=1.0,
        help="The part of a worker's slots (threads + max_waiting) that one project may have, of"
        " those that others do not use. Further requests are refused (429, Retry-After), so that"
        " a flood of a few projects does not block the others. It is its part of the threads, too."
        " 1: all, for a single project.",
    ),
    cfg.IntOpt(
        "max_request_body_size",
        default=114688,
        min=1024,
        help="Bytes of a request's body, at most; a longer one is refused (413). User data may have"
        " 64 KiB, so less than 100000 refuses valid servers.",
    ),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "by Keystone, configured in [keystone_authtoken]"),
            ("noauth", "no check of the caller's identity: for rigs and tests"),
        ],
        help="How callers are authenticated.",
    ),
    cfg.StrOpt(
        "daemon_names",
        default="nova",
        choices=[
            ("nova", "nova-compute, nova-conductor: as clients and dashboards expect"),
            ("roost", "roost-compute, roost-cell-conductor: the names of Roost"),
        ],
        help="The names of daemons in os-services, os-hosts and os-availability-zone. Requests may"
        " use either names.",
    ),
    cfg.IntOpt("max_limit", default=1000, min=1, help="Items in one page of a list, at most."),
    cfg.IntOpt(
        "max_instances_per_request",
        default=1000,
        min=1,
        help="Servers that one create request may have at most (max_count), whatever the quota.",
    ),
    cfg.BoolOpt(
        "enable_instance_password",
        default=True,
        help="Whether the answer to a create has the administrator's password of the server"
        " (adminPass). Turn it off where hypervisors do not set it: a wrong password only"
        " confuses.",
    ),
    cfg.BoolOpt(
        "list_records_by_skipping_down_cells",
        default=True,
        help="Whether lists of servers skip unavailable cells where they cannot show the servers"
        " there with partial data: in microversions before 2.69, and with filters, sort keys,"
        " limits and markers. Otherwise such lists fail (503). Turn it off where an incomplete list"
        " does more harm than none.",
    ),
    cfg.BoolOpt(
        "allow_resize_to_same_host",
        default=False,
        help="Whether a resized server may stay on its host, if the scheduler prefers it. Turn it"
        " on where hosts have room to grow, or there is one host only: nothing is copied then, but"
        " the server has the larger of both flavors there until the resize is confirmed.",
    ),
    cfg.URIOpt(
        "public_url",
        help="The base URL of links in answers. Set it where a proxy is before roost-api.",
    ),
]
