"""The network service, where servers get their ports from it."""

from oslo_config import cfg

from roost.conf.identity import client_options

GROUP = "neutron"
OPTIONS = [
    *client_options("network"),
    cfg.FloatOpt(
        "vif_plugging_timeout",
        default=300.0,
        min=0.0,
        help="Seconds that a build waits for Neutron to say that its ports work (the event"
        " network-vif-plugged). 0: it does not wait.",
    ),
    cfg.BoolOpt(
        "vif_plugging_is_fatal",
        default=True,
        help="Whether a server whose ports do not work in time fails to build. Otherwise it becomes"
        " ACTIVE, and may be without network for some time.",
    ),
    cfg.FloatOpt(
        "refresh_interval",
        default=300.0,
        min=0.0,
        help="Seconds between two looks of a host whether ports of its servers have changed without"
        " an event (network-changed) that told of it: addresses, floating IPs, whether they work."
        " Each look is about 100 servers and asks Neutron some five times. 0: it does not look.",
    ),
    cfg.StrOpt(
        "ovs_bridge",
        default="br-int",
        help="The bridge of Open vSwitch that ports bound as ovs are on if Neutron names none. Only"
        " guests of libvirt are plugged.",
    ),
    cfg.StrOpt(
        "ovsdb_connection",
        default="unix:/run/openvswitch/db.sock",
        help="Where the OVSDB of this host answers, as ovs-vsctl --db takes it: unix:PATH or"
        " tcp:ADDRESS:PORT.",
    ),
]
