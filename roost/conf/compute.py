"""Options of roost-compute."""

from oslo_config import cfg, types

GROUP = "compute"
OPTIONS = [
    cfg.StrOpt("virt_driver", default="fake", help="The hypervisor driver: an entry point's name."),
    cfg.StrOpt(
        "availability_zone",
        default="nova",
        help="The zone that this host reports. (The default is that of Nova.)",
    ),
    cfg.IPOpt(
        "host_ip",
        help="The address that this host reports, for the scheduler hint build_near_host_ip. Left"
        " out: none.",
    ),
    cfg.ListOpt(
        "labels",
        default=[],
        help="Labels of this host, such as racks, storage pools and physical networks: networks"
        " (and later volumes) may require them, see [network] local_networks.",
    ),
    cfg.ListOpt(
        "collectors",
        default=["provider_config"],
        help="The plug-ins that say what this host has beside what its hypervisor reports: entry"
        " points of roost.collectors, doc/resource_classes.",
    ),
    cfg.StrOpt(
        "provider_config_location",
        default="/etc/roost/provider_config/",
        help="Folder of .yaml files that give this host inventories of custom resource classes and"
        " traits: doc/resource_classes. A folder that does not exist gives none.",
    ),
    cfg.ListOpt(
        "compute_monitors",
        default=[],
        item_type=types.String(choices=["cpu.virt_driver"]),
        help="Metrics that hosts of libvirt measure, for the filter and the weigher metrics."
        " cpu.virt_driver: cpu.percent, and cpu.user, cpu.kernel, cpu.idle and cpu.iowait, each as"
        " .percent (0 to 100, since the measurement before) and .time (ns); cpu.frequency (MHz)."
        " Set it where [scheduler] metrics_weights names any of them.",
    ),
    cfg.FloatOpt("cpu_allocation_ratio", default=4.0, min=0.01, help="Virtual CPUs per real one."),
    cfg.FloatOpt("ram_allocation_ratio", default=1.0, min=0.01, help="Overcommit of memory."),
    cfg.FloatOpt("disk_allocation_ratio", default=1.0, min=0.01, help="Overcommit of disk."),
    cfg.StrOpt(
        "cpu_shared_set",
        help="CPUs of this host that servers share, as in 0-7,^3. Set it to keep servers off the"
        " others. Left out: all, or none where cpu_dedicated_set is set. Only the libvirt driver"
        " reads it.",
    ),
    cfg.StrOpt(
        "cpu_dedicated_set",
        help="CPUs of this host that are given to one server each (hw:cpu_policy = dedicated or"
        " mixed), as in 8-15. Left out: none. Only the libvirt driver reads it.",
    ),
    cfg.IntOpt("reserved_host_cpus", default=0, min=0, help="CPUs that servers never get."),
    cfg.IntOpt("reserved_host_memory_mb", default=512, min=0, help="MiB that servers never get."),
    cfg.IntOpt(
        "reserved_host_disk_mb", default=0, min=0, help="MiB of disk that servers never get."
    ),
    cfg.IntOpt(
        "max_concurrent_builds",
        default=10,
        min=1,
        help="Servers that this host builds at once; more builds wait.",
    ),
    cfg.IntOpt(
        "max_concurrent_moves",
        default=4,
        min=1,
        help="Servers that move here whose disks this host copies at once; more copies wait. Lower"
        " where they would slow down other servers.",
    ),
    cfg.IntOpt(
        "shelved_offload_time",
        default=0,
        min=-1,
        help="Seconds that a shelved server stays on its host, which then removes it. -1: until an"
        " administrator offloads it.",
    ),
    cfg.IntOpt(
        "resize_confirm_window",
        default=0,
        min=0,
        help="Seconds after which a cell-conductor confirms a migration or resize that its user has"
        " neither confirmed nor reverted, unless its new host is down. 0: never. Set it where users"
        " forget it: until then a server has resources on two hosts.",
    ),
    cfg.BoolOpt(
        "force_config_drive",
        default=False,
        help="Whether every new server gets a config drive, requested or not. Turn it on where"
        " there is no metadata service, or guests cannot reach it.",
    ),
    cfg.FloatOpt(
        "unused_image_lifetime",
        default=86400.0,
        min=0.0,
        help="Seconds that an image in this host's cache is kept for the next server after its last"
        " use by a build. Shorter where disks are small; 0: for ever.",
    ),
    cfg.IntOpt(
        "image_cache_max_bytes",
        min=0,
        help="Bytes that all images in this host's cache may have. The least recently used ones are"
        " deleted for a new one; a build whose image finds no space even so is rescheduled to"
        " another host. Not set: images of running builds may use all free space, others are kept"
        " in a quarter of the file system. 0: no limit.",
    ),
    cfg.BoolOpt(
        "resume_guests_state_on_host_boot",
        default=False,
        help="Whether servers that ran when their host went down are started when it is up again."
        " Turn it on where no other service starts them; otherwise they are SHUTOFF then. It needs"
        " a hypervisor that records when a guest was started, as libvirt does.",
    ),
    cfg.FloatOpt(
        "reconcile_interval",
        default=60.0,
        min=0,
        help="Seconds between two comparisons of the hypervisor's guests with the cell's rows,"
        " which correct the differences. Longer where hosts have very many servers; 0: only when"
        " the daemon starts.",
    ),
]
GROUPS = [
    (
        "fake_driver",
        [
            cfg.IntOpt("vcpus", default=64, min=1, help="CPUs of the simulated host."),
            cfg.IntOpt("memory_mb", default=256 * 1024, min=1, help="MiB of its memory."),
            cfg.IntOpt("disk_gb", default=4096, min=1, help="GiB of its disk."),
            cfg.StrOpt(
                "faults_file",
                help="A JSON file of faults to inject, read before every step; it may change at any"
                " time. See doc/rig.",
            ),
            cfg.StrOpt(
                "inventory_file",
                help="A JSON file with the inventory of each simulated host, by its name: sizes,"
                " NUMA cells, devices, traits, metrics. The options above are the defaults. It is"
                " read when the daemon starts. See doc/rig.",
            ),
        ],
    ),
]
