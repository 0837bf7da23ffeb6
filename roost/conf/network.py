"""Networks of the servers."""

from oslo_config import cfg

GROUP = "network"
OPTIONS = [
    cfg.StrOpt("driver", default="local", help="Who gives out addresses: an entry point's name."),
    cfg.ListOpt(
        "local_networks",
        default=["private=10.0.0.0/16"],
        help="The networks of the local driver, name=cidr each; the first serves requests that name"
        " none. Every cell has its own addresses of each. After the cidr may follow label=... for"
        " what a host must carry to reach the network ([compute] labels) and prefer=... for what it"
        " should, as in storage=10.8.0.0/16 label=physnet2 prefer=rack7. roost-api and the"
        " cell-conductors must agree.",
    ),
]
