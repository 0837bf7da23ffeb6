"""Options of what guests are told of themselves, and of roost-metadata, which tells it."""

from oslo_config import cfg, types

from roost.conf.identity import session_options

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
            cfg.ListOpt(
                "vendordata_providers",
                default=["StaticJSON"],
                item_type=types.String(choices=["StaticJSON", "DynamicJSON"]),
                help="Where vendor data comes from: StaticJSON is vendor_data_file; DynamicJSON"
                " asks the services of vendordata_dynamic_targets about each guest, for its"
                " vendor_data2.json. roost-metadata and the computes must agree.",
            ),
            cfg.ListOpt(
                "vendordata_dynamic_targets",
                default=[],
                sample_default=["join@https://vendor.example/join"],
                help="The services that DynamicJSON asks, name@URL each. One is sent, by POST, the"
                " JSON object of project-id, instance-id, image-id, user-data, hostname, metadata"
                " and boot-roles; what it answers, JSON, stands under its name. All that serve"
                " guests must reach them: roost-metadata, and computes that make config drives.",
            ),
            cfg.FloatOpt(
                "vendordata_dynamic_connect_timeout",
                default=5.0,
                min=0.1,
                help="Seconds that a connection to such a service may take.",
            ),
            cfg.FloatOpt(
                "vendordata_dynamic_read_timeout",
                default=5.0,
                min=0.1,
                help="Seconds that such a service may take until its answer begins, and again until"
                " it ends. A guest waits for it: raise it only as far as guests have patience.",
            ),
            cfg.BoolOpt(
                "vendordata_dynamic_failure_fatal",
                default=False,
                help="Whether a guest must not do without what such a service says: its"
                " vendor_data2.json is 503 until all answer, and a build with a config drive fails"
                " and is tried on another host. Otherwise it finds an empty object there.",
            ),
        ],
    ),
    ("vendordata_dynamic_auth", session_options()),
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
                " with identify = signature, and by computes with [bridge] metadata_url.",
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
