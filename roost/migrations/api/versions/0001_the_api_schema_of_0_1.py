"""The api schema of 0.1."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "api_revisions",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        **TABLE,
    )
    op.create_table(
        "build_requests",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("instance", LONG_TEXT, nullable=False),
        sa.Column("cell_uuid", UUID, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("lease_owner", sa.String(length=64), nullable=True),
        sa.Column("lease_until", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("instance_uuid", name="build_requests_instance_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "ix_build_requests_lease_until", "build_requests", ["lease_until"], unique=False
    )
    op.create_index("ix_build_requests_project_id", "build_requests", ["project_id"], unique=False)
    op.create_index(
        "ix_build_requests_request_uuid", "build_requests", ["request_uuid"], unique=False
    )
    op.create_table(
        "cell_mappings",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("transport_url", sa.Text(), nullable=True),
        sa.Column("database_url", sa.Text(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="cell_mappings_name_key"),
        sa.UniqueConstraint("uuid", name="cell_mappings_uuid_key"),
        **TABLE,
    )
    op.create_table(
        "console_tokens",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest"),
        **TABLE,
    )
    op.create_index("ix_console_tokens_expires_at", "console_tokens", ["expires_at"], unique=False)
    op.create_index(
        "ix_console_tokens_instance_uuid", "console_tokens", ["instance_uuid"], unique=False
    )
    op.create_table(
        "deleted_mappings",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("deleted_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid"),
        **TABLE,
    )
    op.create_index(
        "deleted_mappings_by_age", "deleted_mappings", ["cell_uuid", "deleted_at"], unique=False
    )
    op.create_table(
        "flavors",
        sa.Column("id", KEY, nullable=False),
        sa.Column("flavorid", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("root_gb", sa.Integer(), nullable=False),
        sa.Column("ephemeral_gb", sa.Integer(), nullable=False),
        sa.Column("swap", sa.Integer(), nullable=False),
        sa.Column("rxtx_factor", sa.Double(), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("flavorid", name="flavors_flavorid_key"),
        sa.UniqueConstraint("name", name="flavors_name_key"),
        **TABLE,
    )
    op.create_table(
        "host_aggregates",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="host_aggregates_name_key"),
        sa.UniqueConstraint("uuid", name="host_aggregates_uuid_key"),
        **TABLE,
    )
    op.create_table(
        "host_mappings",
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.PrimaryKeyConstraint("host"),
        **TABLE,
    )
    op.create_index("ix_host_mappings_cell_uuid", "host_mappings", ["cell_uuid"], unique=False)
    op.create_table(
        "instance_groups",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("policy", sa.String(length=64), nullable=False),
        sa.Column("max_server_per_host", sa.Integer(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("uuid", name="instance_groups_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "ix_instance_groups_project_id", "instance_groups", ["project_id"], unique=False
    )
    op.create_table(
        "instance_mappings",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("cell_uuid", UUID, nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("resize_uuid", UUID, nullable=True),
        sa.Column("queued_for_delete", sa.Boolean(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("put_away_at", TIME, nullable=True),
        sa.Column("operation_uuid", UUID, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("instance_uuid", name="instance_mappings_instance_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "instance_mappings_by_project",
        "instance_mappings",
        ["project_id", "queued_for_delete"],
        unique=False,
    )
    op.create_index(
        "instance_mappings_by_user", "instance_mappings", ["project_id", "user_id"], unique=False
    )
    op.create_index(
        "instance_mappings_put_away", "instance_mappings", ["put_away_at"], unique=False
    )
    op.create_index("instance_mappings_resized", "instance_mappings", ["resize_uuid"], unique=False)
    op.create_index(
        "instance_mappings_unsettled", "instance_mappings", ["operation_uuid"], unique=False
    )
    op.create_index(
        "ix_instance_mappings_cell_uuid", "instance_mappings", ["cell_uuid"], unique=False
    )
    op.create_index(
        "ix_instance_mappings_request_uuid", "instance_mappings", ["request_uuid"], unique=False
    )
    op.create_table(
        "key_pair_owners",
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
        **TABLE,
    )
    op.create_table(
        "key_pairs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("public_key", LONG_TEXT, nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user_id", "name", name="key_pairs_user_id_name_key"),
        sa.UniqueConstraint("uuid", name="key_pairs_uuid_key"),
        **TABLE,
    )
    op.create_table(
        "made_ports",
        sa.Column("id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("network_id", UUID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("ip", sa.String(length=39), nullable=False),
        sa.Column("mac", sa.String(length=17), nullable=False),
        sa.Column("admin_state_up", sa.Boolean(), server_default="1", nullable=False),
        sa.Column("tags", LONG_TEXT, nullable=True),
        sa.Column("instance_uuid", UUID, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("mac", name="made_ports_mac_key"),
        sa.UniqueConstraint("network_id", "ip", name="made_ports_network_id_ip_key"),
        **TABLE,
    )
    op.create_index("ix_made_ports_instance_uuid", "made_ports", ["instance_uuid"], unique=False)
    op.create_index("ix_made_ports_project_id", "made_ports", ["project_id"], unique=False)
    op.create_table(
        "network_uses",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("network_id", UUID, nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "network_id"),
        **TABLE,
    )
    op.create_index("ix_network_uses_network_id", "network_uses", ["network_id"], unique=False)
    op.create_table(
        "networks",
        sa.Column("id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("cidr", sa.String(length=64), nullable=True),
        sa.Column("subnet_name", sa.String(length=255), nullable=True),
        sa.Column("subnet_tags", LONG_TEXT, nullable=True),
        sa.Column("admin_state_up", sa.Boolean(), server_default="1", nullable=False),
        sa.Column("tags", LONG_TEXT, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index("ix_networks_project_id", "networks", ["project_id"], unique=False)
    op.create_table(
        "quota_class_limits",
        sa.Column("class_name", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=64), nullable=False),
        sa.Column("hard_limit", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("class_name", "resource"),
        **TABLE,
    )
    op.create_table(
        "quota_limits",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=64), nullable=False),
        sa.Column("hard_limit", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "resource"),
        **TABLE,
    )
    op.create_table(
        "quota_usages",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("instances", sa.BigInteger(), nullable=False),
        sa.Column("cores", sa.BigInteger(), nullable=False),
        sa.Column("ram", sa.BigInteger(), nullable=False),
        sa.Column("server_groups", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
        **TABLE,
    )
    op.create_table(
        "quota_user_limits",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=64), nullable=False),
        sa.Column("hard_limit", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", "resource"),
        **TABLE,
    )
    op.create_table(
        "request_specs",
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("spec", LONG_TEXT, nullable=False),
        sa.Column("zone_and_hints", LONG_TEXT, nullable=True),
        sa.PrimaryKeyConstraint("request_uuid"),
        **TABLE,
    )
    op.create_table(
        "security_group_members",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("group_id", UUID, nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "group_id"),
        **TABLE,
    )
    op.create_index(
        "ix_security_group_members_group_id", "security_group_members", ["group_id"], unique=False
    )
    op.create_table(
        "security_group_rules",
        sa.Column("id", UUID, nullable=False),
        sa.Column("group_id", UUID, nullable=False),
        sa.Column("direction", sa.String(length=8), nullable=False),
        sa.Column("ethertype", sa.String(length=4), nullable=False),
        sa.Column("protocol", sa.String(length=32), nullable=True),
        sa.Column("port_min", sa.Integer(), nullable=True),
        sa.Column("port_max", sa.Integer(), nullable=True),
        sa.Column("remote_prefix", sa.String(length=64), nullable=True),
        sa.Column("remote_group_id", UUID, nullable=True),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index(
        "ix_security_group_rules_group_id", "security_group_rules", ["group_id"], unique=False
    )
    op.create_index(
        "ix_security_group_rules_remote_group_id",
        "security_group_rules",
        ["remote_group_id"],
        unique=False,
    )
    op.create_table(
        "security_groups",
        sa.Column("id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "name", name="security_groups_project_id_name_key"),
        **TABLE,
    )
    op.create_table(
        "aggregate_hosts",
        sa.Column("aggregate_id", KEY, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["aggregate_id"], ["host_aggregates.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("aggregate_id", "host"),
        **TABLE,
    )
    op.create_index("ix_aggregate_hosts_host", "aggregate_hosts", ["host"], unique=False)
    op.create_table(
        "aggregate_metadata",
        sa.Column("aggregate_id", KEY, nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["aggregate_id"], ["host_aggregates.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("aggregate_id", "key"),
        **TABLE,
    )
    op.create_table(
        "flavor_extra_specs",
        sa.Column("flavor_id", KEY, nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavors.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("flavor_id", "key"),
        **TABLE,
    )
    op.create_table(
        "flavor_projects",
        sa.Column("flavor_id", KEY, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavors.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("flavor_id", "project_id"),
        **TABLE,
    )
    op.create_index(
        "ix_flavor_projects_project_id", "flavor_projects", ["project_id"], unique=False
    )
    op.create_table(
        "instance_group_members",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("group_id", KEY, nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["instance_groups.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("instance_uuid", name="instance_group_members_instance_uuid_key"),
        **TABLE,
    )
    op.create_index(
        "ix_instance_group_members_group_id", "instance_group_members", ["group_id"], unique=False
    )
