"""Options of PCI devices for servers."""

from oslo_config import cfg

GROUP = "pci"
OPTIONS = [
    cfg.MultiStrOpt(
        "alias",
        default=[],
        help="A name for devices that flavors may request (pci_passthrough:alias), as a JSON"
        ' object such as {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}; device_type'
        " (type-PCI, type-PF, type-VF), numa_policy (required, preferred, socket, legacy) and tags"
        " that hosts give their devices may be added. Of several entries of one name any may match."
        " Set it where hosts have devices for servers; only roost-api reads it.",
    ),
    cfg.MultiStrOpt(
        "device_spec",
        default=[],
        help="Devices of this host for servers, as a JSON object such as"
        ' {"vendor_id": "10de", "product_id": "1eb8"} or {"address": "*:0a:00.*"}, where * is'
        " anything; all other keys are tags, such as physical_network. Each device goes by the"
        " first entry that it matches. Set it on hosts with devices for servers, none of them"
        " one that the host needs; only roost-compute with the libvirt driver reads it, when it"
        " starts.",
    ),
]
