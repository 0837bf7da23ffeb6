"""Options of devices that a host divides among servers."""

from oslo_config import cfg

GROUP = "devices"
OPTIONS = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        help="Types of mediated devices (virtual GPUs), such as nvidia-35, that this host creates"
        " for flavors with resources:VGPU. A physical device has the first of them that it"
        " supports; virsh nodedev-dumpxml lists its types. Set it on hosts of the libvirt driver"
        " with such devices, and add mdev to [compute] collectors.",
    ),
]
