"""Options of the libvirt driver: guests of QEMU."""

from oslo_config import cfg, types

GROUP = "libvirt"
OPTIONS = [
    cfg.StrOpt(
        "connection_uri",
        default="qemu:///system",
        help="The URI of libvirt. Set it where its socket has another path.",
    ),
    cfg.StrOpt(
        "virt_type",
        default="auto",
        choices=[
            ("kvm", "hardware virtualization"),
            ("qemu", "QEMU emulates a CPU: many times slower, but works everywhere"),
            (
                "auto",
                "kvm, if a tiny guest runs fast with it when the daemon starts; else qemu",
            ),
        ],
        help="How guests run. Set it to kvm where a host without KVM must not start.",
    ),
    cfg.StrOpt(
        "instances_path",
        help="The folder of the disks and consoles of guests, on a file system with enough space."
        " Left out: the folder instances of this host in [DEFAULT] state_path.",
    ),
    cfg.StrOpt(
        "machine_type",
        help="The machine type of new guests, such as pc or pc-i440fx-7.2, which all hosts that"
        " they may migrate to must support. Left out: QEMU's default.",
    ),
    cfg.StrOpt(
        "cpu_mode",
        choices=[
            ("host-model", "the named model of libvirt nearest to the host's"),
            ("host-passthrough", "the host's own"),
            ("custom", "the one that cpu_model names"),
            ("none", "QEMU's default"),
        ],
        help="The CPU model of new guests. Left out: host-model with kvm, else none.",
    ),
    cfg.StrOpt("cpu_model", help="A named CPU model of libvirt; only with cpu_mode = custom."),
    cfg.ListOpt(
        "cpu_model_extra_flags",
        default=[],
        help="Features that the CPU of new guests has besides those of its model (aes or +aes), or"
        " must not have (-vmx), by libvirt's names; only with a cpu_mode. Set it where all hosts"
        " have a feature that their common model lacks.",
    ),
    cfg.IntOpt(
        "num_pcie_ports",
        default=16,
        min=0,
        max=28,
        help="PCIe slots of guests with a machine type that has them (q35), including those of"
        " their initial devices; devices attached while they run use the others. More where guests"
        " get many interfaces; 0: only those of the initial devices.",
    ),
    cfg.IntOpt(
        "mem_stats_period_seconds",
        default=10,
        min=0,
        help="Seconds between two reports of a guest's memory usage, which its diagnostics show."
        " 0: no reports.",
    ),
    cfg.ListOpt(
        "screens",
        default=["vnc"],
        item_type=types.String(choices=["vnc", "spice"]),
        help="The protocols of graphical consoles of new guests. Add spice where its page is"
        " served, too; leave it empty for no graphical consoles. Existing guests keep theirs.",
    ),
    cfg.IntOpt(
        "bases_max_bytes",
        min=0,
        help="Bytes that all images in the folder bases may have on disk. The least recently used"
        " ones without overlay disks are deleted for a new one; a build whose image finds no space"
        " even so is rescheduled to another host. Not set: images with overlay disks may use all"
        " free space, others are kept in half of the file system. 0: no limit.",
    ),
    cfg.StrOpt(
        "images_type",
        default="qcow2",
        choices=[
            ("qcow2", "a disk is an overlay on the image"),
            ("raw", "a disk is a full copy of the image: it needs more space, but no image"),
        ],
        help="The format of the disks of new guests. raw where disks must be as fast as possible;"
        " existing guests keep theirs.",
    ),
    cfg.StrOpt(
        "default_ephemeral_format",
        default="ext4",
        choices=["ext2", "ext3", "ext4", "vfat", "xfs", "none"],
        help="The file system of ephemeral disks without a guest_format. Its mkfs must be on this"
        " host. none: no file system, where guests format them.",
    ),
    cfg.FloatOpt(
        "shutdown_timeout",
        default=60.0,
        min=0.0,
        help="Seconds that a guest's operating system gets to shut down when its server is stopped"
        " or rebooted, before the guest is powered off.",
    ),
    cfg.StrOpt(
        "live_migration_inbound_addr",
        help="The address of this host for the memory and disks of guests in live migrations to it,"
        " in a network of all hosts. Left out: [DEFAULT] host, as a name.",
    ),
    cfg.StrOpt(
        "live_migration_uri",
        help="The URI of this host's libvirtd for those of other hosts, in live migrations to it."
        " Left out: qemu+tls://ADDRESS/system, ADDRESS being live_migration_inbound_addr. Set it"
        " for another transport (qemu+ssh, or qemu+tcp in a private network of the hosts).",
    ),
    cfg.StrOpt(
        "migration_tls_dir",
        default="/etc/pki/qemu",
        help="The folder of the certificates by which hosts fetch the disks of stopped servers from"
        " each other, by QEMU's names: ca-cert.pem, server-cert.pem, server-key.pem,"
        " client-cert.pem, client-key.pem. Set it to an empty value where nobody else is on the"
        " network of live_migration_inbound_addr: then disks are copied without TLS.",
    ),
    cfg.IntOpt(
        "live_migration_bandwidth",
        default=0,
        min=0,
        help="MiB per second that the live migration of a guest may send. Set it where migrations"
        " would disturb others; if too low, those of busy guests never complete. 0: no limit.",
    ),
    cfg.IntOpt(
        "live_migration_downtime",
        default=500,
        min=100,
        help="Milliseconds that a guest may be paused to complete its migration. More where those"
        " of busy guests do not complete otherwise.",
    ),
    cfg.BoolOpt(
        "live_migration_permit_post_copy",
        default=False,
        help="Whether a migrating guest may run on the target before all of its memory has been"
        " copied, once the migration is forced or takes too long: it completes for sure then, but"
        " is lost if a host or the network fails meanwhile. QEMU must be allowed to by both hosts'"
        " kernels (vm.unprivileged_userfaultfd, or /dev/userfaultfd). All hosts should say the"
        " same.",
    ),
    cfg.BoolOpt(
        "live_migration_permit_auto_converge",
        default=False,
        help="Whether a guest that writes to its memory faster than it can be copied is throttled,"
        " more and more, until the migration completes.",
    ),
    cfg.BoolOpt(
        "live_migration_with_native_tls",
        default=False,
        help="Whether memory and disks of migrating guests are encrypted, by QEMU itself, with the"
        " certificates that /etc/libvirt/qemu.conf names on both hosts (default_tls_x509_cert_dir)."
        " Turn it on where others are on the network of live_migration_inbound_addr.",
    ),
    cfg.IntOpt(
        "live_migration_completion_timeout",
        default=800,
        min=0,
        help="Seconds that a migration may take for each GiB of memory and disks (at least one),"
        " before live_migration_timeout_action is taken. 0: no limit.",
    ),
    cfg.StrOpt(
        "live_migration_timeout_action",
        default="abort",
        choices=[
            ("abort", "the guest stays on its host"),
            (
                "force_complete",
                "post-copy, if it is permitted; else the guest is paused until it is complete",
            ),
        ],
        help="The action on a migration that takes too long.",
    ),
]
