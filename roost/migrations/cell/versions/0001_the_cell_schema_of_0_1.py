"""The cell schema of 0.1."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("cell_name", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_table(
        "instance_actions",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("action", sa.String(length=255), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("start_time", TIME, nullable=False),
        sa.Column("finish_time", TIME, nullable=True),
        sa.Column("updated_at", TIME, nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("code", sa.String(length=32), nullable=True),
        sa.Column("operation_uuid", UUID, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "instance_uuid",
            "request_id",
            "action",
            name="instance_actions_instance_uuid_request_id_action_key",
        ),
        sa.UniqueConstraint("operation_uuid", name="instance_actions_operation_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "ix_instance_actions_instance_uuid", "instance_actions", ["instance_uuid"], unique=False
    )
    op.create_table(
        "instance_addresses",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("ip", sa.String(length=39), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "ip"),
        **TABLE,
    )
    op.create_index("instance_addresses_by_ip", "instance_addresses", ["ip"], unique=False)
    op.create_table(
        "instance_faults",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("code", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("details", LONG_TEXT, nullable=True),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index(
        "ix_instance_faults_instance_uuid", "instance_faults", ["instance_uuid"], unique=False
    )
    op.create_table(
        "instance_provisions",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("provisions", LONG_TEXT, nullable=True),
        sa.Column("admin_password", LONG_TEXT, nullable=True),
        sa.Column("password", LONG_TEXT, nullable=True),
        sa.PrimaryKeyConstraint("instance_uuid"),
        **TABLE,
    )
    op.create_table(
        "instance_tags",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "digest"),
        **TABLE,
    )
    op.create_index(
        "instance_tags_by_digest", "instance_tags", ["digest", "instance_uuid"], unique=False
    )
    op.create_table(
        "instances",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("reservation_id", sa.String(length=255), nullable=False),
        sa.Column("launch_index", sa.Integer(), nullable=False),
        sa.Column("display_name", sa.String(length=255), nullable=False),
        sa.Column("display_description", sa.String(length=255), nullable=True),
        sa.Column("hostname", sa.String(length=255), nullable=False),
        sa.Column("instance_name", sa.String(length=255), nullable=True),
        sa.Column("flavor_id", sa.String(length=255), nullable=False),
        sa.Column("flavor", LONG_TEXT, nullable=False),
        sa.Column("image_id", sa.String(length=64), nullable=True),
        sa.Column("image", LONG_TEXT, nullable=True),
        sa.Column("key_name", sa.String(length=255), nullable=True),
        sa.Column("keypair", LONG_TEXT, nullable=True),
        sa.Column("user_data", LONG_TEXT, nullable=True),
        sa.Column("config_drive", sa.Boolean(), nullable=False),
        sa.Column("disk_config", sa.String(length=16), server_default="MANUAL", nullable=False),
        sa.Column("root_device_name", sa.String(length=255), nullable=True),
        sa.Column("security_groups", LONG_TEXT, nullable=True),
        sa.Column("trusted_certs", LONG_TEXT, nullable=True),
        sa.Column("metadata", LONG_TEXT, nullable=False),
        sa.Column("tags", LONG_TEXT, nullable=False),
        sa.Column("access_ip_v4", sa.String(length=39), nullable=True),
        sa.Column("access_ip_v6", sa.String(length=39), nullable=True),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("node", sa.String(length=255), nullable=True),
        sa.Column("numa_topology", LONG_TEXT, nullable=True),
        sa.Column("pci", LONG_TEXT, nullable=True),
        sa.Column("allocations", LONG_TEXT, nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("vm_state", sa.String(length=32), nullable=False),
        sa.Column("task_state", sa.String(length=32), nullable=True),
        sa.Column("power_state", sa.Integer(), nullable=False),
        sa.Column("locked", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("locked_by", sa.String(length=16), nullable=True),
        sa.Column("locked_reason", sa.String(length=255), nullable=True),
        sa.Column("networks", LONG_TEXT, nullable=False),
        sa.Column("network_info", LONG_TEXT, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=True),
        sa.Column("launched_at", TIME, nullable=True),
        sa.Column("shelved_at", TIME, nullable=True),
        sa.Column("shelved_image_id", sa.String(length=36), nullable=True),
        sa.Column("soft_deleted_at", TIME, nullable=True),
        sa.Column("deleted_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("uuid", name="instances_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "instances_by_age", "instances", ["deleted_at", "created_at", "uuid"], unique=False
    )
    op.create_index("instances_by_change", "instances", ["updated_at"], unique=False)
    op.create_index("instances_by_host", "instances", ["host", "deleted_at"], unique=False)
    op.create_index(
        "instances_by_project",
        "instances",
        ["project_id", "deleted_at", "created_at", "uuid"],
        unique=False,
    )
    op.create_index("instances_put_away", "instances", ["soft_deleted_at"], unique=False)
    op.create_index("instances_shelved", "instances", ["shelved_at"], unique=False)
    op.create_table(
        "left_behind",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("noted_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("instance_uuid", "host"),
        **TABLE,
    )
    op.create_index("ix_left_behind_host", "left_behind", ["host"], unique=False)
    op.create_table(
        "migrations",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("migration_type", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("source_host", sa.String(length=255), nullable=False),
        sa.Column("source_node", sa.String(length=255), nullable=False),
        sa.Column("source_zone", sa.String(length=255), nullable=True),
        sa.Column("source_resources", LONG_TEXT, nullable=True),
        sa.Column("dest_host", sa.String(length=255), nullable=True),
        sa.Column("dest_node", sa.String(length=255), nullable=True),
        sa.Column("dest_zone", sa.String(length=255), nullable=True),
        sa.Column("dest_ip", sa.String(length=64), nullable=True),
        sa.Column("dest_resources", LONG_TEXT, nullable=True),
        sa.Column("old_flavor", LONG_TEXT, nullable=False),
        sa.Column("new_flavor", LONG_TEXT, nullable=False),
        sa.Column("disk_total_bytes", sa.BigInteger(), nullable=True),
        sa.Column("disk_processed_bytes", sa.BigInteger(), nullable=True),
        sa.Column("disk_remaining_bytes", sa.BigInteger(), nullable=True),
        sa.Column("memory_total_bytes", sa.BigInteger(), nullable=True),
        sa.Column("memory_processed_bytes", sa.BigInteger(), nullable=True),
        sa.Column("memory_remaining_bytes", sa.BigInteger(), nullable=True),
        sa.Column("power_before", sa.Integer(), nullable=True),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("uuid"),
        **TABLE,
    )
    op.create_index("ix_migrations_instance_uuid", "migrations", ["instance_uuid"], unique=False)
    op.create_index("ix_migrations_source_host", "migrations", ["source_host"], unique=False)
    op.create_index("ix_migrations_dest_host", "migrations", ["dest_host"], unique=False)
    op.create_index("migrations_by_age", "migrations", ["created_at", "uuid"], unique=False)
    op.create_index(
        "migrations_by_project", "migrations", ["project_id", "created_at"], unique=False
    )
    op.create_table(
        "operations",
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("lock", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("step", sa.String(length=32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("params", LONG_TEXT, nullable=True),
        sa.Column("handover", LONG_TEXT, nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("asked", sa.String(length=32), nullable=True),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease_until", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("uuid"),
        sa.UniqueConstraint("instance_uuid", "lock", name="operations_instance_uuid_lock_key"),
        **TABLE,
    )
    op.create_index("ix_operations_host", "operations", ["host"], unique=False)
    op.create_table(
        "ports",
        sa.Column("id", UUID, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("network_id", UUID, nullable=False),
        sa.Column("network_name", sa.String(length=255), nullable=True),
        sa.Column("cidr", sa.String(length=64), nullable=True),
        sa.Column("ip", sa.String(length=39), nullable=False),
        sa.Column("mac", sa.String(length=17), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("tag", sa.String(length=60), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("instance_uuid", "position", name="ports_instance_uuid_position_key"),
        sa.UniqueConstraint("mac", name="ports_mac_key"),
        sa.UniqueConstraint("network_id", "ip", name="ports_network_id_ip_key"),
        **TABLE,
    )
    op.create_index("ix_ports_instance_uuid", "ports", ["instance_uuid"], unique=False)
    op.create_table(
        "security_group_copies",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("security_groups", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
        **TABLE,
    )
    op.create_table(
        "services",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("binary", sa.String(length=255), nullable=False),
        sa.Column("availability_zone", sa.String(length=255), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.String(length=255), nullable=True),
        sa.Column("disabled_at", TIME, nullable=True),
        sa.Column("forced_down", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_seen_up", TIME, nullable=False),
        sa.Column("state_id", UUID, nullable=True),
        sa.Column("version", sa.String(length=16), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("host", "binary", name="services_host_binary_key"),
        sa.UniqueConstraint("uuid", name="services_uuid_key"),
        **TABLE,
    )
    op.create_index("services_by_binary", "services", ["binary"], unique=False)
    op.create_table(
        "instance_action_events",
        sa.Column("id", KEY, nullable=False),
        sa.Column("action_id", KEY, nullable=False),
        sa.Column("event", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("start_time", TIME, nullable=False),
        sa.Column("finish_time", TIME, nullable=True),
        sa.Column("result", sa.String(length=16), nullable=True),
        sa.Column("details", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["action_id"], ["instance_actions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index(
        "ix_instance_action_events_action_id", "instance_action_events", ["action_id"], unique=False
    )
