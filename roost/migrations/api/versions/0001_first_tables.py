"""First tables."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "build_requests",
        sa.Column("id", KEY, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("instance", LONG_TEXT, nullable=False),
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
        "flavors",
        sa.Column("id", KEY, nullable=False),
        sa.Column("flavorid", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("root_gb", sa.Integer(), nullable=False),
        sa.Column("ephemeral_gb", sa.Integer(), nullable=False),
        sa.Column("swap", sa.Integer(), nullable=False),
        sa.Column("rxtx_factor", sa.Float(), nullable=False),
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
        "host_mappings",
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.PrimaryKeyConstraint("host"),
        **TABLE,
    )
    op.create_index("ix_host_mappings_cell_uuid", "host_mappings", ["cell_uuid"], unique=False)
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
        sa.Column("queued_for_delete", sa.Boolean(), nullable=False),
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
        "ix_instance_mappings_cell_uuid", "instance_mappings", ["cell_uuid"], unique=False
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
        sa.PrimaryKeyConstraint("project_id"),
        **TABLE,
    )
    op.create_table(
        "request_specs",
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("spec", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("request_uuid"),
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
