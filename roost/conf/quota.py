"""What a project may use when nothing else is said for it; -1: no limit."""

from oslo_config import cfg

GROUP = "quota"
OPTIONS = [
    cfg.IntOpt("instances", default=10, min=-1, help="Servers per project."),
    cfg.IntOpt("cores", default=20, min=-1, help="Virtual CPUs per project."),
    cfg.IntOpt("ram", default=50 * 1024, min=-1, help="MiB of memory per project."),
    cfg.IntOpt("metadata_items", default=128, min=-1, help="Metadata items per server."),
    cfg.IntOpt(
        "injected_files",
        default=5,
        min=-1,
        help="Files that a new server may be given (personality, until microversion 2.56).",
    ),
    cfg.IntOpt(
        "injected_file_path_bytes", default=255, min=-1, help="Bytes of such a file's path."
    ),
    cfg.IntOpt(
        "injected_file_content_bytes",
        default=10 * 1024,
        min=-1,
        help="Bytes of such a file's content, as the guest finds it.",
    ),
    cfg.IntOpt("server_groups", default=10, min=-1, help="Server groups per project."),
    cfg.IntOpt("server_group_members", default=10, min=-1, help="Servers per server group."),
    cfg.IntOpt("key_pairs", default=100, min=-1, help="Key pairs per user."),
    cfg.IntOpt(
        "security_groups",
        default=10,
        min=-1,
        help="Security groups per project, with local networks; Neutron has its own limit.",
    ),
    cfg.IntOpt(
        "security_group_rules",
        default=100,
        min=-1,
        help="Rules of all security groups of a project, with local networks.",
    ),
    cfg.IntOpt(
        "images",
        default=100,
        min=-1,
        help="Images per project in the local store, images of its servers included; Glance has its"
        " own limits of this and of bytes.",
    ),
    cfg.IntOpt(
        "image_bytes",
        default=1 << 40,
        min=-1,
        help="Bytes of all images of a project in the local store. Set it on hosts, too, which send"
        " images of servers there.",
    ),
    cfg.IntOpt(
        "networks",
        default=100,
        min=-1,
        help="Networks that a project makes, with local networks; Neutron has its own limits of"
        " this, subnets and ports.",
    ),
    cfg.IntOpt("subnets", default=100, min=-1, help="Subnets of a project's networks, likewise."),
    cfg.IntOpt(
        "ports",
        default=500,
        min=-1,
        help="Ports of a project, likewise: those that its users make, and those of its servers.",
    ),
]
