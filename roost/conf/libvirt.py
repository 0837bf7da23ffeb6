"""Guests of QEMU, where ``[compute] virt_driver`` is ``libvirt``."""

from oslo_config import cfg, types

GROUP = "libvirt"
OPTIONS = [
    cfg.StrOpt(
        "connection_uri",
        default="qemu:///system",
        help="Where libvirt answers. Set it when its socket is at another place.",
    ),
    cfg.StrOpt(
        "virt_type",
        default="auto",
        choices=[
            ("kvm", "the CPU runs guests itself"),
            ("qemu", "QEMU emulates a CPU: many times slower, and works everywhere"),
            (
                "auto",
                "kvm, if a tiny guest runs with it at speed when the daemon starts; else qemu",
            ),
        ],
        help="What runs guests. Say kvm where a host without it had better not start.",
    ),
    cfg.StrOpt(
        "instances_path",
        help="Where guests have their disks and consoles, on a file system with room for them. Left"
        " out: the folder instances of this host in [DEFAULT] state_path.",
    ),
    cfg.StrOpt(
        "machine_type",
        help="The machine that new guests see, such as pc or pc-i440fx-7.2, which must be the same"
        " over all hosts that they may go to. Left out: the one that QEMU takes by itself.",
    ),
    cfg.StrOpt(
        "cpu_mode",
        choices=[
            ("host-model", "the nearest that libvirt has a name for"),
            ("host-passthrough", "the host's own"),
            ("custom", "the one that cpu_model names"),
            ("none", "whatever QEMU gives"),
        ],
        help="Which CPU new guests see. Left out: host-model with kvm, else none.",
    ),
    cfg.StrOpt("cpu_model", help="A CPU that libvirt has a name for; only with cpu_mode = custom."),
    cfg.ListOpt(
        "cpu_model_extra_flags",
        default=[],
        help="Features that the CPU of new guests has beside those of its model (aes or +aes), or"
        " must not have (-vmx), in libvirt's words; only with a cpu_mode. Set it where hosts have a"
        " feature that the model that all of them can run does not.",
    ),
    cfg.IntOpt(
        "num_pcie_ports",
        default=16,
        min=0,
        max=28,
        help="Slots of PCIe of guests on machines that have it (q35), with those that their own"
        " devices take; what is plugged in while they run takes those that are left. More where"
        " guests get many interfaces; 0: only what their own devices need.",
    ),
    cfg.IntOpt(
        "mem_stats_period_seconds",
        default=10,
        min=0,
        help="Seconds between two times that a guest tells how much memory it uses, which its"
        " diagnostics show. 0: it does not.",
    ),
    cfg.ListOpt(
        "screens",
        default=["vnc"],
        item_type=types.String(choices=["vnc", "spice"]),
        help="By which protocols users see the screens of new guests in their browsers. Add spice"
        " where its page is served, too; leave it empty where nobody is to look at all. Guests keep"
        " what they were made with.",
    ),
    cfg.IntOpt(
        "bases_max_bytes",
        min=0,
        help="Bytes of the disk that all images in the folder bases may have. For a new one those"
        " go that no disk stands on, and that no guest has needed for longest; a build for whose"
        " image there is no room all the same goes to another host. Not set: what disks stand on"
        " may have all that is free, and the others are kept in half of the file system. 0: no"
        " bound.",
    ),
    cfg.StrOpt(
        "images_type",
        default="qcow2",
        choices=[
            ("qcow2", "a disk has what its guest wrote, and stands on the image"),
            ("raw", "a disk is plain bytes, a copy of the image: it takes room, and stands alone"),
        ],
        help="The kind of files that the disks of new guests are in. raw where disks must be as"
        " fast as can be; guests keep what they were made with.",
    ),
    cfg.StrOpt(
        "default_ephemeral_format",
        default="ext4",
        choices=["ext2", "ext3", "ext4", "vfat", "xfs", "none"],
        help="What ephemeral disks have on them for whom does not say (guest_format). Its mkfs must"
        " be on this host. none: nothing, where guests format them.",
    ),
    cfg.FloatOpt(
        "shutdown_timeout",
        default=60.0,
        min=0.0,
        help="Seconds that a guest's own system gets to end when its server is stopped or rebooted,"
        " before its plug is pulled.",
    ),
    cfg.StrOpt(
        "live_migration_inbound_addr",
        help="The address of this host, in a network that hosts share, at which memory and disks of"
        " guests come in that are moved to it while they run. Left out: [DEFAULT] host, as a name.",
    ),
    cfg.StrOpt(
        "live_migration_uri",
        help="Where the libvirtd of this host answers those of others, which move guests to it."
        " Left out: qemu+tls://ADDRESS/system, ADDRESS being live_migration_inbound_addr. Set it"
        " where they speak otherwise (qemu+ssh, or qemu+tcp in a network that nobody else is in).",
    ),
    cfg.IntOpt(
        "live_migration_bandwidth",
        default=0,
        min=0,
        help="MiB that a guest which goes to another host may send in a second. Set it where moves"
        " would disturb others; too little, and busy guests never arrive. 0: all that there is.",
    ),
    cfg.IntOpt(
        "live_migration_downtime",
        default=500,
        min=100,
        help="Milliseconds that a guest may be held to complete its move. More where busy guests do"
        " not arrive otherwise.",
    ),
    cfg.BoolOpt(
        "live_migration_permit_post_copy",
        default=False,
        help="Whether a guest that goes to another host may run there before all of its memory has"
        " arrived, once somebody forces that or it takes too long: it arrives for sure then, and is"
        " lost if a host or the network fails meanwhile. QEMU must be let do it by both hosts'"
        " kernels (vm.unprivileged_userfaultfd, or /dev/userfaultfd). All hosts should say the"
        " same.",
    ),
    cfg.BoolOpt(
        "live_migration_permit_auto_converge",
        default=False,
        help="Whether a guest that writes to its memory faster than that can be copied is slowed"
        " down, more and more, until it arrives.",
    ),
    cfg.IntOpt(
        "live_migration_completion_timeout",
        default=800,
        min=0,
        help="Seconds that a move may take for each GiB of memory and disks (at least one), before"
        " live_migration_timeout_action is taken. 0: as long as it takes.",
    ),
    cfg.StrOpt(
        "live_migration_timeout_action",
        default="abort",
        choices=[
            ("abort", "the guest stays where it is"),
            (
                "force_complete",
                "post-copy, where it is permitted; else the guest is held until it has arrived",
            ),
        ],
        help="What is done about a move that takes too long.",
    ),
]
