"""Options of the schedulers and their clients."""

from oslo_config import cfg

GROUP = "scheduler"
OPTIONS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        help="The bus of the schedulers. Left out: [DEFAULT] transport_url, which is right at API"
        " level; hosts and cell-conductors must set it.",
    ),
    cfg.StrOpt("driver", default="filter", help="How hosts are chosen: an entry point's name."),
    cfg.ListOpt(
        "filters",
        default=[
            "enabled",
            "requested",
            "retry",
            "availability_zone",
            "isolated_aggregates",
            "isolated_hosts",
            "aggregate_extra_specs",
            "traits",
            "compute_capabilities",
            "image_properties",
            "locality",
            "simple_cidr_affinity",
            "same_host",
            "different_host",
            "server_group_affinity",
            "server_group_anti_affinity",
            "ram",
            "cpu",
            "pcpu",
            "disk",
            "resource_classes",
            "hardware",
            "pci_passthrough",
            "numa_topology",
        ],
        help="The filters, in this order: a refusal counts for the first filter that refuses. Add"
        " those that reserve hosts for some projects, flavors or images, or that limit the load of"
        " a host. See doc/scheduler_plugins.",
    ),
    cfg.ListOpt(
        "weighers",
        help="The weighers, each with its multiplier; a negative one reverses the order. Set it"
        " where no profile fits. Left out: those of the profile. See doc/scheduler_plugins.",
    ),
    cfg.StrOpt(
        "profile",
        default="spread",
        choices=[
            ("spread", "prefer hosts with much free capacity: servers disturb each other least"),
            ("pack", "prefer hosts with little: whole hosts stay free for large servers"),
            ("none", "free capacity makes no difference"),
        ],
        help="The weighers, where the option weighers is left out: those for preferences of users,"
        " and ram, cpu and disk as follows. Change it where small and very large servers are mixed,"
        " or empty hosts are turned off.",
    ),
    cfg.IntOpt(
        "best_of",
        default=1,
        min=1,
        help="The number of best hosts to choose from at random. More than 1 keeps several"
        " schedulers from choosing the same host at the same time.",
    ),
    cfg.ListOpt(
        "change_topics",
        default=[],
        help="The topics of notifications of every change of a host, its claims and its liveness."
        " None: they are not sent. [oslo_messaging_notifications] says how they are. See"
        " doc/stream.",
    ),
]
