"""Options of the schedulers, and of those who talk to them."""

from oslo_config import cfg

GROUP = "scheduler"
OPTIONS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        help="The bus that the schedulers serve. Left out: [DEFAULT] transport_url, which is right"
        " at API level; hosts and cell-conductors must name it.",
    ),
    cfg.StrOpt("driver", default="filter", help="How hosts are chosen: an entry point's name."),
    cfg.ListOpt(
        "filters",
        default=["enabled", "requested", "availability_zone", "ram", "cpu", "disk"],
        help="What a host must pass, in this order.",
    ),
    cfg.ListOpt(
        "weighers",
        default=["ram=1.0", "cpu=1.0", "disk=1.0"],
        help="What makes a host better than another, each with its multiplier; a negative one"
        " fills hosts up instead of spreading over them.",
    ),
    cfg.FloatOpt(
        "host_silence",
        default=120.0,
        min=1,
        help="Seconds after its last report at which a host gets no new servers.",
    ),
]
