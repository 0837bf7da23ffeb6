"""Tables of a cell's database (cell0 has the same, and no hosts)."""

import sqlalchemy as sa

from roost.db.types import Key, LongText, UtcDateTime, Uuid

metadata = sa.MetaData()

# Which cell this database is: one row, written when the cell is mapped.
identity = sa.Table(
    "identity",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("cell_uuid", Uuid, nullable=False),
    sa.Column("cell_name", sa.String(255), nullable=False),
)

# deleted_at marks a deleted instance; the row stays for lists of deleted servers, until the purge.
instances = sa.Table(
    "instances",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("reservation_id", sa.String(255), nullable=False),
    sa.Column("launch_index", sa.Integer, nullable=False, default=0),
    sa.Column("display_name", sa.String(255), nullable=False),
    sa.Column("display_description", sa.String(255)),
    sa.Column("hostname", sa.String(255), nullable=False),
    sa.Column("instance_name", sa.String(255)),
    sa.Column("flavor_id", sa.String(255), nullable=False),
    sa.Column("flavor", LongText, nullable=False),
    sa.Column("image_id", sa.String(64)),
    sa.Column("image", LongText),
    sa.Column("key_name", sa.String(255)),
    sa.Column("keypair", LongText),
    sa.Column("user_data", LongText),
    sa.Column("config_drive", sa.Boolean, nullable=False, default=False),
    sa.Column("disk_config", sa.String(16), nullable=False, server_default="MANUAL"),
    sa.Column("root_device_name", sa.String(255)),
    sa.Column("security_groups", LongText),
    sa.Column("trusted_certs", LongText),
    sa.Column("metadata", LongText, nullable=False),
    sa.Column("tags", LongText, nullable=False),
    sa.Column("access_ip_v4", sa.String(39)),
    sa.Column("access_ip_v6", sa.String(39)),
    sa.Column("availability_zone", sa.String(255)),
    sa.Column("host", sa.String(255)),
    sa.Column("node", sa.String(255)),
    sa.Column("numa_topology", LongText),  # with pci: CPUs, memory and devices that it has
    sa.Column("pci", LongText),
    sa.Column("allocations", LongText),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("vm_state", sa.String(32), nullable=False),
    sa.Column("task_state", sa.String(32)),
    sa.Column("power_state", sa.Integer, nullable=False, default=0),
    sa.Column("locked", sa.Boolean, nullable=False, default=False, server_default="0"),
    sa.Column("locked_by", sa.String(16)),
    sa.Column("locked_reason", sa.String(255)),
    sa.Column("networks", LongText, nullable=False),
    sa.Column("network_info", LongText),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime),
    sa.Column("launched_at", UtcDateTime),
    sa.Column("shelved_at", UtcDateTime),  # still on its host
    sa.Column("shelved_image_id", sa.String(36)),
    sa.Column("soft_deleted_at", UtcDateTime),  # may be restored until reclaimed
    sa.Column("deleted_at", UtcDateTime),
    sa.Index("instances_by_project", "project_id", "deleted_at", "created_at", "uuid"),
    sa.Index("instances_by_age", "deleted_at", "created_at", "uuid"),
    sa.Index("instances_by_host", "host", "deleted_at"),
    sa.Index("instances_by_change", "updated_at"),
    sa.Index("instances_put_away", "soft_deleted_at"),
    sa.Index("instances_shelved", "shelved_at"),
)

# Large or secret values, which no list reads: the configuration of a guest when it is created, and
# the password that the guest has posted, encrypted with the owner's public key.
instance_provisions = sa.Table(
    "instance_provisions",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("provisions", LongText),
    sa.Column("admin_password", LongText),  # until the guest has it
    sa.Column("password", LongText),  # encrypted, as the guest has posted it
)

# Which instances have a tag: an index of the column ``tags``, for lists; see instance_index.py.
instance_tags = sa.Table(
    "instance_tags",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("digest", sa.String(32), primary_key=True),
    sa.Index("instance_tags_by_digest", "digest", "instance_uuid"),
)

# Which instances have an address: an index of the column ``network_info``; see instance_index.py.
instance_addresses = sa.Table(
    "instance_addresses",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("ip", sa.String(39), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Index("instance_addresses_by_ip", "ip"),
)

# An operation under way on an instance. The row is deleted when the operation ends; its action in
# the history has its uuid. ``tries``: how often its step was sent to the host again. Of a move: the
# request for its destination, JSON of what that has prepared, and why the move is
# being undone.
operations = sa.Table(
    "operations",
    metadata,
    sa.Column("uuid", Uuid, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("lock", sa.String(64), nullable=False),
    sa.Column("host", sa.String(255), index=True),  # None: a conductor does the step
    sa.Column("step", sa.String(32), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("params", LongText),
    sa.Column("handover", LongText),
    sa.Column("reason", sa.Text),
    sa.Column("asked", sa.String(32)),  # of its host, meanwhile: see operations/steps.py
    sa.Column("request_id", sa.String(64), nullable=False),
    sa.Column("tries", sa.Integer, nullable=False, default=0),
    sa.Column("lease_until", UtcDateTime),  # None: its host has not begun it
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("instance_uuid", "lock"),
)

# The record that an instance is, or was, on two hosts: it is deleted with the instance's row.
# Flavors and resources (NUMA cells, CPUs, devices and allocations) are JSON.
migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("instance_uuid", Uuid, nullable=False, index=True),
    sa.Column("migration_type", sa.String(32), nullable=False),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("source_host", sa.String(255), nullable=False, index=True),
    sa.Column("source_node", sa.String(255), nullable=False),
    sa.Column("source_zone", sa.String(255)),
    sa.Column("source_resources", LongText),
    sa.Column("dest_host", sa.String(255), index=True),
    sa.Column("dest_node", sa.String(255)),
    sa.Column("dest_zone", sa.String(255)),
    sa.Column("dest_ip", sa.String(64)),
    sa.Column("dest_resources", LongText),
    sa.Column("old_flavor", LongText, nullable=False),
    sa.Column("new_flavor", LongText, nullable=False),
    sa.Column("disk_total_bytes", sa.BigInteger),
    sa.Column("disk_processed_bytes", sa.BigInteger),
    sa.Column("disk_remaining_bytes", sa.BigInteger),
    sa.Column("memory_total_bytes", sa.BigInteger),
    sa.Column("memory_processed_bytes", sa.BigInteger),
    sa.Column("memory_remaining_bytes", sa.BigInteger),
    sa.Column("power_before", sa.Integer),
    sa.Column("request_id", sa.String(64), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime),
    sa.Index("migrations_by_age", "created_at", "uuid"),
    sa.Index("migrations_by_project", "project_id", "created_at"),
)

instance_faults = sa.Table(
    "instance_faults",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, index=True),
    sa.Column("code", sa.Integer, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("details", LongText),
    sa.Column("host", sa.String(255)),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

instance_actions = sa.Table(
    "instance_actions",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, index=True),
    sa.Column("action", sa.String(255), nullable=False),
    sa.Column("request_id", sa.String(64), nullable=False),
    sa.Column("user_id", sa.String(255)),
    sa.Column("project_id", sa.String(255)),
    sa.Column("start_time", UtcDateTime, nullable=False),
    sa.Column("finish_time", UtcDateTime),
    sa.Column("updated_at", UtcDateTime),
    sa.Column("message", sa.Text),
    sa.Column("code", sa.String(32)),  # of the error with which it failed
    sa.Column("operation_uuid", Uuid, unique=True),  # None: it was no operation
    sa.UniqueConstraint("instance_uuid", "request_id", "action"),
)

instance_action_events = sa.Table(
    "instance_action_events",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column(
        "action_id",
        Key,
        sa.ForeignKey("instance_actions.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("event", sa.String(255), nullable=False),
    sa.Column("host", sa.String(255)),
    sa.Column("start_time", UtcDateTime, nullable=False),
    sa.Column("finish_time", UtcDateTime),
    sa.Column("result", sa.String(16)),
    sa.Column("details", sa.Text),
)

services = sa.Table(
    "services",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("binary", sa.String(255), nullable=False),
    sa.Column("availability_zone", sa.String(255)),
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("disabled_reason", sa.String(255)),
    sa.Column("disabled_at", UtcDateTime),  # when disabled was last set or cleared
    sa.Column("forced_down", sa.Boolean, nullable=False, default=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("last_seen_up", UtcDateTime, nullable=False),
    sa.Column("state_id", Uuid),  # id of a host's state path; None: that of its next report
    sa.Column("version", sa.String(16)),  # of the RPC interface that a host serves
    sa.UniqueConstraint("host", "binary"),
    sa.Index("services_by_binary", "binary"),
)

# Hosts that may have guests of instances that were deleted, rescheduled or moved while they were
# down.
left_behind = sa.Table(
    "left_behind",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("host", sa.String(255), primary_key=True, index=True),
    sa.Column("noted_at", UtcDateTime),
)

# The local network driver's addresses. A port belongs to one instance, on whatever host.
ports = sa.Table(
    "ports",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("network_id", Uuid, nullable=False),
    sa.Column("network_name", sa.String(255)),  # with cidr: of a network that a user created
    sa.Column("cidr", sa.String(64)),
    sa.Column("ip", sa.String(39), nullable=False),
    sa.Column("mac", sa.String(17), nullable=False, unique=True),
    sa.Column("host", sa.String(255)),
    sa.Column("tag", sa.String(60)),
    sa.UniqueConstraint("network_id", "ip"),
    sa.UniqueConstraint("instance_uuid", "position"),
)

# The security groups of a project as the API level last sent them: JSON.
security_group_copies = sa.Table(
    "security_group_copies",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("security_groups", LongText, nullable=False),
)
