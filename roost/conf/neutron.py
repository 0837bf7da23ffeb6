"""Options of Neutron, for ``[network] driver = neutron``."""

from oslo_config import cfg

from roost.conf.identity import client_options

GROUP = "neutron"
OPTIONS = [
    *client_options("network"),
    cfg.FloatOpt(
        "vif_plugging_timeout",
        default=300.0,
        min=0.0,
        help="Seconds that a build waits for Neutron's event that its ports are active"
        " (network-vif-plugged). 0: it does not wait.",
    ),
    cfg.BoolOpt(
        "vif_plugging_is_fatal",
        default=True,
        help="Whether a build fails if its ports are not active in time. Otherwise the server"
        " becomes ACTIVE, and may be without network for some time.",
    ),
    cfg.FloatOpt(
        "refresh_interval",
        default=300.0,
        min=0.0,
        help="Seconds between two checks of a host for ports of its servers that have changed"
        " without an event (network-changed): addresses, floating IPs, status. Each check is for"
        " 100 servers and sends some five requests to Neutron. 0: no checks.",
    ),
    cfg.StrOpt(
        "ovs_bridge",
        default="br-int",
        help="The bridge of Open vSwitch for ports bound as ovs if Neutron names none. Only for"
        " guests of libvirt.",
    ),
    cfg.StrOpt(
        "ovsdb_connection",
        default="unix:/run/openvswitch/db.sock",
        help="The address of this host's OVSDB, as ovs-vsctl --db takes it: unix:PATH or"
        " tcp:ADDRESS:PORT.",
    ),
]
