"""Bridges for guests, where ``[network] driver`` is ``bridge``."""

from oslo_config import cfg, types

GROUP = "bridge"
OPTIONS = [
    cfg.ListOpt(
        "uplinks",
        default=[],
        sample_default=["private=eth1.120"],
        help="The links that connect networks of [network] local_networks with other hosts,"
        " network=link each: an interface, a VLAN interface, or any other port of a bridge that"
        " exists before roost-compute starts. Each network needs a link of its own. Networks"
        " without one are limited to the host, as are those that users create.",
    ),
    cfg.IntOpt(
        "mtu",
        default=1500,
        min=576,
        max=65535,
        help="Bytes that a packet of a guest may have. Set it to the MTU of the uplinks; guests"
        " receive it by DHCP.",
    ),
    cfg.ListOpt(
        "dns_servers",
        default=[],
        item_type=types.IPAddress(version=4),
        sample_default=["192.0.2.53"],
        help="Addresses of DNS servers that guests receive by DHCP. They must be reachable from the"
        " networks.",
    ),
    cfg.URIOpt(
        "metadata_url",
        schemes=["http", "https"],
        sample_default="http://127.0.0.1:8775",
        help="The URL of roost-metadata, which must have identify = signature. Requests of guests"
        " to 169.254.169.254 are signed with [metadata] shared_secret and sent there. Left out:"
        " guests have config drives only.",
    ),
]
