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
