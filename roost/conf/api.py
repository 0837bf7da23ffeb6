"""Options of roost-api."""

from oslo_config import cfg

GROUP = "api"
OPTIONS = [
    cfg.HostAddressOpt("listen", default="127.0.0.1", help="The address that roost-api serves."),
    cfg.PortOpt("port", default=8774, help="The port that roost-api serves."),
    cfg.IntOpt("threads", default=16, min=1, help="Requests that one worker serves at once."),
    cfg.StrOpt(
        "auth_strategy",
        default="noauth",
        choices=[("noauth", "everybody is who they say they are: for rigs and tests")],
        help="Who says who the caller is.",
    ),
    cfg.IntOpt("max_limit", default=1000, min=1, help="Items in one page of a list, at most."),
    cfg.IntOpt(
        "max_instances_per_request",
        default=1000,
        min=1,
        help="Servers that one create request may ask for (max_count), whatever the quota.",
    ),
    cfg.URIOpt(
        "public_url",
        help="The URL that links in answers begin with, when a proxy stands before roost-api.",
    ),
]
