"""Bridges for guests, where ``[network] driver`` is ``bridge``."""

from oslo_config import cfg, types

GROUP = "bridge"
OPTIONS = [
    cfg.ListOpt(
        "uplinks",
        default=[],
        sample_default=["private=eth1.120"],
        help="By which links of this host networks of [network] local_networks go on beyond it,"
        " network=link each: an interface, a VLAN of one, or whatever else a bridge takes and that"
        " is there before roost-compute. A link is its network's alone. A network without one stays"
        " within the host, and so do those that users make.",
    ),
    cfg.IntOpt(
        "mtu",
        default=1500,
        min=576,
        max=65535,
        help="Bytes that a packet of a guest may have. Set it to what the uplinks carry; guests"
        " learn it by DHCP.",
    ),
    cfg.ListOpt(
        "dns_servers",
        default=[],
        item_type=types.IPAddress(version=4),
        sample_default=["192.0.2.53"],
        help="Servers of names that guests are told by DHCP. They must be reachable from the"
        " networks.",
    ),
    cfg.URIOpt(
        "metadata_url",
        schemes=["http", "https"],
        sample_default="http://127.0.0.1:8775",
        help="Where roost-metadata answers, which must have identify = signature. What guests ask"
        " of 169.254.169.254 is signed with [metadata] shared_secret and sent there. Left out:"
        " guests have config drives only.",
    ),
]
