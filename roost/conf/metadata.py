"""Options of what guests are told of themselves, and of roost-metadata, which tells it."""

from oslo_config import cfg

GROUPS = [
    (
        "guest_data",
        [
            cfg.StrOpt(
                "dhcp_domain",
                default="novalocal",
                help="The domain that is added to the host names of guests, as far as they have"
                " none. Set it to what your DHCP servers say; empty: nothing is added."
                " roost-metadata and the computes must agree. (The default is the name that guests"
                " know.)",
            ),
            cfg.StrOpt(
                "vendor_data_file",
                help="A file with a JSON object that every guest finds as its vendor data: a proxy,"
                " the address of a mirror, settings for cloud-init. It is read when roost-metadata"
                " and the computes start. Left out: there is none.",
            ),
        ],
    ),
    (
        "metadata",
        [
            cfg.HostAddressOpt(
                "listen", default="127.0.0.1", help="The address that roost-metadata serves."
            ),
            cfg.PortOpt("port", default=8775, help="The port that roost-metadata serves."),
            cfg.StrOpt(
                "identify",
                default="signature",
                choices=[
                    ("signature", "by headers that Neutron's metadata agent signs"),
                    ("address", "by the address that it comes from, among the guests of one host"),
                ],
                help="How roost-metadata learns which guest asks.",
            ),
            cfg.StrOpt(
                "shared_secret",
                secret=True,
                help="The secret that Neutron's metadata agent signs with"
                " (its metadata_proxy_shared_secret). Who knows it can ask for any guest. Needed"
                " with identify = signature.",
            ),
            cfg.StrOpt(
                "host",
                help="The host whose guests are served with identify = address; left out: [DEFAULT]"
                " host. Let nobody but the guests of that host reach the port.",
            ),
            cfg.IntOpt("threads", default=16, min=1, help="Requests that are served at once."),
            cfg.IntOpt(
                "max_waiting",
                default=112,
                min=0,
                help="Requests that may wait until a thread has time for them. Whoever comes when"
                " so many wait is told at once to try again (503, Retry-After). Raise it where very"
                " many guests boot at the same moment.",
            ),
            cfg.FloatOpt(
                "cache_seconds",
                default=5.0,
                min=0,
                help="Seconds that what was read of a guest is taken for true: a guest that boots"
                " asks some dozen times in a row. Longer, changes reach guests later.",
            ),
        ],
    ),
]
