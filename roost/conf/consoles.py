"""Options of interactive consoles, and of roost-consoleproxy, which connects users to them."""

from oslo_config import cfg

GROUPS = [
    (
        "consoles",
        [
            cfg.IntOpt(
                "token_ttl",
                default=600,
                min=1,
                help="Seconds that the URL of a console is valid. Shorter where others may see such"
                " URLs; users can request a new one at any time.",
            ),
            cfg.BoolOpt(
                "enforce_session_timeout",
                default=False,
                help="Whether roost-consoleproxy closes a connection when the token of its URL"
                " expires. Otherwise an open connection may stay open.",
            ),
            cfg.URIOpt(
                "novnc_base_url",
                default="http://127.0.0.1:6080/vnc_lite.html",
                help="The URL of the noVNC page for users, at roost-consoleproxy or at the proxy"
                " with TLS before it. roost-api adds the token. Set it on every roost-api.",
            ),
            cfg.URIOpt(
                "spice_base_url",
                default="http://127.0.0.1:6080/spice/spice_auto.html",
                help="The URL of the spice-html5 page for users, as novnc_base_url. Set it where"
                " hosts have spice among their [libvirt] screens.",
            ),
            cfg.URIOpt(
                "serial_base_url",
                default="ws://127.0.0.1:6080/",
                schemes=["ws", "wss"],
                help="The WebSocket URL of serial consoles for users, as novnc_base_url.",
            ),
            cfg.HostAddressOpt(
                "host_listen",
                default="127.0.0.1",
                help="The address on which roost-compute listens for roost-consoleproxy. Set it to"
                " one of the management network: connections need a token, but are not encrypted."
                " It listens from the first request for a console on.",
            ),
            cfg.PortOpt(
                "host_port",
                default=0,
                help="The port there; 0: any free one. Set it where firewalls need a fixed port.",
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
                "listen", default="127.0.0.1", help="The address roost-consoleproxy listens on."
            ),
            cfg.PortOpt("port", default=6080, help="The port that roost-consoleproxy listens on."),
            cfg.StrOpt(
                "certificate_file",
                help="A file with the certificate of roost-consoleproxy, and the intermediate ones."
                " With it, only TLS is served; left out: no TLS, which needs a proxy with TLS"
                " before it.",
            ),
            cfg.StrOpt(
                "key_file",
                help="A file with the key of the certificate. Needed with certificate_file.",
            ),
            cfg.ListOpt(
                "allowed_origins",
                default=[],
                sample_default=["https://dashboard.example"],
                help="The origins (scheme, host and port if it is not the default) whose pages may"
                " open consoles, besides those that roost-consoleproxy itself serves. Set it to"
                " your dashboard, and to the public address where a proxy changes the Host header.",
            ),
            cfg.StrOpt(
                "web",
                help="A folder with the files of noVNC for roost-consoleproxy to serve; Debian's"
                " package novnc has them in /usr/share/novnc. Left out: it serves none.",
            ),
            cfg.StrOpt(
                "spice_web",
                help="A folder with the files of spice-html5 for roost-consoleproxy to serve below"
                " /spice/; Debian's package spice-html5 has them in /usr/share/spice-html5.",
            ),
            cfg.IntOpt(
                "max_connections",
                default=200,
                min=1,
                help="Connections that are open at once, files included; each takes a few threads."
                " Further connections are refused.",
            ),
        ],
    ),
]
