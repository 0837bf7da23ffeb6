"""What a project may use when nothing else is said for it; -1: no limit."""

from oslo_config import cfg

GROUP = "quota"
OPTIONS = [
    cfg.IntOpt("instances", default=10, min=-1, help="Servers per project."),
    cfg.IntOpt("cores", default=20, min=-1, help="Virtual CPUs per project."),
    cfg.IntOpt("ram", default=50 * 1024, min=-1, help="MiB of memory per project."),
]
