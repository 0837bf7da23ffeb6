"""Options of single filters and weighers; each matters only where its plug-in is in the list."""

from oslo_config import cfg

GROUP = "scheduler"
OPTIONS = [
    cfg.IntOpt(
        "max_instances_per_host",
        default=50,
        min=1,
        help="Filter num_instances: how many servers a host may have. Lowered by operators whose"
        " hosts suffer from many small servers before they run out of memory. The metadata of"
        " aggregates may say otherwise, under the same name.",
    ),
    cfg.IntOpt(
        "max_io_ops_per_host",
        default=8,
        min=1,
        help="Filter io_ops: how many builds and the like may go on at a host when it gets another"
        " one. Set to what its disks and network bear. The metadata of aggregates may say"
        " otherwise, under the same name.",
    ),
    cfg.ListOpt(
        "isolated_hosts",
        default=[],
        help="Filter isolated_hosts: names of hosts for isolated images only. Set by operators who"
        " run something of their own, such as license servers, on hosts set aside for it.",
    ),
    cfg.ListOpt(
        "isolated_images",
        default=[],
        help="Filter isolated_hosts: ids of the images that boot on isolated hosts and nowhere"
        " else.",
    ),
    cfg.BoolOpt(
        "restrict_isolated_hosts_to_isolated_images",
        default=True,
        help="Filter isolated_hosts: whether isolated hosts take isolated images only. Turned off"
        " by who wants these hosts to be used by others, too.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_namespace",
        help="Filter aggregate_image_properties_isolation: only metadata of aggregates counts whose"
        " name begins so. Set where aggregates have other metadata by the names of image"
        " properties. Left out: all counts.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_separator",
        default=".",
        help="Filter aggregate_image_properties_isolation: what stands between the namespace and"
        " the rest of a name. Set together with the namespace.",
    ),
    cfg.StrOpt(
        "image_properties_default_architecture",
        help="Filter image_properties: the architecture of images that name none, such as x86_64."
        " Set where hosts of several architectures are mixed. Left out: such images go anywhere.",
    ),
    cfg.ListOpt(
        "metrics_weights",
        default=[],
        help="Filter and weigher metrics: names of metrics that hosts measure, each with its ratio,"
        " such as cpu.percent=-0.01. Set by operators whose hosts measure more than Roost does.",
    ),
    cfg.BoolOpt(
        "metrics_required",
        default=True,
        help="Weigher metrics: whether a host that lacks a metric is the worst. Turned off while"
        " only some hosts measure yet; such a host then counts as if it measured zero.",
    ),
]
