"""Options of networks: the driver, and the networks of the local driver."""

from oslo_config import cfg

GROUP = "network"
OPTIONS = [
    cfg.StrOpt("driver", default="local", help="The network driver: an entry point's name."),
    cfg.ListOpt(
        "local_networks",
        default=["private=10.0.0.0/16"],
        help="The networks of the local driver, name=cidr each; the first is the default of"
        " requests that name none. Every cell has its own addresses of each. The cidr may be"
        " followed by label=... for a required label of hosts ([compute] labels) and prefer=... for"
        " a preferred one, as in storage=10.8.0.0/16 label=physnet2 prefer=rack7. roost-api and the"
        " cell-conductors must agree.",
    ),
]
