"""Options of the data for guests, and of roost-metadata, which serves it."""

from oslo_config import cfg, types

from roost.conf.identity import session_options

GROUPS = [
    (
        "guest_data",
        [
            cfg.StrOpt(
                "dhcp_domain",
                default="novalocal",
                help="The domain that is added to host names of guests without a domain. Set it to"
                " that of your DHCP servers; empty: none is added."
                " roost-metadata and the computes must agree. (The default is the name that guests"
                " know.)",
            ),
            cfg.StrOpt(
                "vendor_data_file",
                help="A file with a JSON object, the vendor data of every guest: a proxy, the"
                " address of a mirror, settings for cloud-init. It is read when roost-metadata and"
                " the computes start. Left out: there is none.",
            ),
            cfg.ListOpt(
                "vendordata_providers",
                default=["StaticJSON"],
                item_type=types.String(choices=["StaticJSON", "DynamicJSON"]),
                help="The sources of vendor data: StaticJSON is vendor_data_file; DynamicJSON calls"
                " the services of vendordata_dynamic_targets for each guest, for its"
                " vendor_data2.json. roost-metadata and the computes must agree.",
            ),
            cfg.ListOpt(
                "vendordata_dynamic_targets",
                default=[],
                sample_default=["join@https://vendor.example/join"],
                help="The services that DynamicJSON calls, name@URL each. Each receives, by POST, a"
                " JSON object of project-id, instance-id, image-id, user-data, hostname, metadata"
                " and boot-roles; its JSON answer is stored under its name. roost-metadata, and"
                " computes that make config drives, must reach them.",
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
                " it ends. The guest waits for it: keep it below the timeouts of guests.",
            ),
            cfg.BoolOpt(
                "vendordata_dynamic_failure_fatal",
                default=False,
                help="Whether the answers of such services are required: a guest's"
                " vendor_data2.json is 503 until all answer, and a build with a config drive fails"
                " and is rescheduled. Otherwise a missing answer is an empty object.",
            ),
        ],
    ),
    ("vendordata_dynamic_auth", session_options()),
    (
        "metadata",
        [
            cfg.HostAddressOpt(
                "listen", default="127.0.0.1", help="The address that roost-metadata listens on."
            ),
            cfg.PortOpt("port", default=8775, help="The port that roost-metadata listens on."),
            cfg.StrOpt(
                "identify",
                default="signature",
                choices=[
                    ("signature", "by headers that Neutron's metadata agent signs"),
                    ("address", "by its source address, among the guests of one host"),
                ],
                help="How roost-metadata identifies the guest of a request.",
            ),
            cfg.StrOpt(
                "shared_secret",
                secret=True,
                help="The secret that Neutron's metadata agent signs with (its"
                " metadata_proxy_shared_secret). It gives access to the data of any guest. Needed"
                " with identify = signature, and by computes with [bridge] metadata_url.",
            ),
            cfg.StrOpt(
                "host",
                help="The host whose guests are served with identify = address; left out: [DEFAULT]"
                " host. Only the guests of that host may have access to the port.",
            ),
            cfg.IntOpt("threads", default=16, min=1, help="Requests that are served at once."),
            cfg.IntOpt(
                "max_waiting",
                default=112,
                min=0,
                help="Requests that may wait for a thread. Further requests are refused at once"
                " (503, Retry-After). Raise it where very many guests boot at the same moment.",
            ),
            cfg.FloatOpt(
                "cache_seconds",
                default=5.0,
                min=0,
                help="Seconds that a guest's data is cached: a guest that boots sends some dozen"
                " requests in a row. Longer, changes reach guests later.",
            ),
        ],
    ),
]
