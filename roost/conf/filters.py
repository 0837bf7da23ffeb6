"""Options of single filters and weighers; each has an effect only if its plug-in is enabled."""

from oslo_config import cfg

GROUP = "scheduler"
OPTIONS = [
    cfg.IntOpt(
        "max_instances_per_host",
        default=50,
        min=1,
        help="Filter num_instances: how many servers a host may have. Lower it where hosts suffer"
        " from many small servers before they run out of memory. The metadata of aggregates may"
        " override it, under the same name.",
    ),
    cfg.IntOpt(
        "max_io_ops_per_host",
        default=8,
        min=1,
        help="Filter io_ops: how many builds and similar tasks may run on a host when it gets"
        " another one. Set it to the capacity of disks and network. The metadata of aggregates may"
        " override it, under the same name.",
    ),
    cfg.ListOpt(
        "isolated_hosts",
        default=[],
        help="Filter isolated_hosts: names of hosts for isolated images only. Set it where hosts"
        " are dedicated to the operator's own images, such as license servers.",
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
        help="Filter isolated_hosts: whether isolated hosts take isolated images only. Turn it off"
        " to let other images use these hosts, too.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_namespace",
        help="Filter aggregate_image_properties_isolation: the prefix of the metadata keys of"
        " aggregates that are compared. Set it where aggregates have other metadata with the names"
        " of image properties. Left out: all keys are compared.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_separator",
        default=".",
        help="Filter aggregate_image_properties_isolation: the separator between the namespace and"
        " the rest of a key. Set it together with the namespace.",
    ),
    cfg.StrOpt(
        "image_properties_default_architecture",
        help="Filter image_properties: the architecture of images that name none, such as x86_64."
        " Set it where hosts of several architectures are mixed. Left out: any host takes them.",
    ),
    cfg.ListOpt(
        "metrics_weights",
        default=[],
        help="Filter and weigher metrics: names of metrics that hosts measure, each with its ratio,"
        " such as cpu.percent=-0.01. Set it where hosts measure any: see [compute].",
    ),
    cfg.BoolOpt(
        "metrics_required",
        default=True,
        help="Weigher metrics: whether a host that lacks a metric ranks last. Turn it off while"
        " only some hosts measure yet; such a host then counts as if it measured zero.",
    ),
]
