"""Options of the default quotas of projects; -1: no limit."""

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
]
