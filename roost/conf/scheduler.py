"""Options of the schedulers, and of those who talk to them."""

from oslo_config import cfg

GROUP = "scheduler"
OPTIONS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        help="The bus that the schedulers serve. Left out: [DEFAULT] transport_url, which is right"
        " at API level; hosts and cell-conductors must name it.",
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
            "hardware",
            "pci_passthrough",
            "numa_topology",
        ],
        help="What a host must pass, in this order: a refusal counts for the first that refuses."
        " Operators add those that keep hosts for some projects, flavors or images, and limits on"
        " what goes on at a host. See doc/scheduler_plugins.",
    ),
    cfg.ListOpt(
        "weighers",
        help="What makes a host better than another, each with its multiplier; a negative one turns"
        " it round. Set by operators to whom something else matters than the profile knows. Left"
        " out: as the profile says. See doc/scheduler_plugins.",
    ),
    cfg.StrOpt(
        "profile",
        default="spread",
        choices=[
            ("spread", "prefer hosts with much room: servers disturb each other least"),
            ("pack", "prefer hosts with little room: whole hosts stay free for large servers"),
            ("none", "room makes no difference"),
        ],
        help="The weighers, where the option of that name is left out: those that honour wishes of"
        " users, and ram, cpu and disk as said here. Changed by operators who mix small and very"
        " large servers, or turn empty hosts off.",
    ),
    cfg.IntOpt(
        "best_of",
        default=1,
        min=1,
        help="Choose at random among so many of the best hosts. More than 1 keeps several"
        " schedulers from choosing the same host at the same time.",
    ),
]
