"""Options of the consoles that users type at, and of roost-consoleproxy, which leads there."""

from oslo_config import cfg

GROUPS = [
    (
        "consoles",
        [
            cfg.IntOpt(
                "token_ttl",
                default=600,
                min=1,
                help="Seconds for which the URL of a console, once asked for, leads there. Shorter"
                " where such URLs may be seen by others; who wants to open it later asks again.",
            ),
            cfg.BoolOpt(
                "enforce_session_timeout",
                default=False,
                help="Whether roost-consoleproxy ends a connection, too, when the token of its URL"
                " expires. Otherwise who came in time stays as long as they like.",
            ),
            cfg.URIOpt(
                "novnc_base_url",
                default="http://127.0.0.1:6080/vnc_lite.html",
                help="The page of noVNC that users are sent to, at roost-consoleproxy or at the"
                " proxy with TLS before it. roost-api adds the token. Set it on every roost-api.",
            ),
            cfg.URIOpt(
                "spice_base_url",
                default="http://127.0.0.1:6080/spice/spice_auto.html",
                help="The page of spice-html5 that users are sent to, as novnc_base_url. Set it"
                " where hosts have spice among their [libvirt] screens.",
            ),
            cfg.URIOpt(
                "serial_base_url",
                default="ws://127.0.0.1:6080/",
                schemes=["ws", "wss"],
                help="The WebSocket at which users find serial consoles, as novnc_base_url.",
            ),
            cfg.HostAddressOpt(
                "host_listen",
                default="127.0.0.1",
                help="The address at which a roost-compute lets roost-consoleproxy in. Set it to"
                " one of the management network; only tokens open anything there, but they come"
                " over it in the clear. It listens from the first console on that is asked for.",
            ),
            cfg.PortOpt(
                "host_port",
                default=0,
                help="The port there; 0: any that is free. Set it where firewalls want to know.",
            ),
            cfg.HostAddressOpt(
                "host_address",
                help="The address at which roost-consoleproxy reaches this roost-compute. Left out:"
                " host_listen.",
            ),
        ],
    ),
    (
        "console_proxy",
        [
            cfg.HostAddressOpt(
                "listen", default="127.0.0.1", help="The address that roost-consoleproxy serves."
            ),
            cfg.PortOpt("port", default=6080, help="The port that roost-consoleproxy serves."),
            cfg.StrOpt(
                "certificate_file",
                help="A file with the certificate, and those between it and its authority, that"
                " roost-consoleproxy proves with who it is. With it, only TLS is served; left out:"
                " none, which wants a proxy with TLS before it.",
            ),
            cfg.StrOpt(
                "key_file",
                help="A file with the key of the certificate. Needed with certificate_file.",
            ),
            cfg.ListOpt(
                "allowed_origins",
                default=[],
                sample_default=["https://dashboard.example"],
                help="The sites (scheme, host and port if it is not the usual one) whose pages may"
                " open consoles, beside those that roost-consoleproxy itself serves. Name your"
                " dashboard here, and the public address where a proxy changes the Host header.",
            ),
            cfg.StrOpt(
                "web",
                help="A folder with the files of noVNC, which roost-consoleproxy serves then;"
                " Debian's package novnc has them in /usr/share/novnc. Left out: it serves none.",
            ),
            cfg.StrOpt(
                "spice_web",
                help="A folder with the files of spice-html5, which roost-consoleproxy serves below"
                " /spice/ then; Debian's package spice-html5 has them in /usr/share/spice-html5.",
            ),
            cfg.IntOpt(
                "max_connections",
                default=200,
                min=1,
                help="Connections that are open at once, files included; each takes a few threads."
                " Whoever comes beyond is turned away.",
            ),
        ],
    ),
]
