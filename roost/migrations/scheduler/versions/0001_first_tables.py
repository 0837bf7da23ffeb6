"""First tables."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "hosts",
        sa.Column("id", KEY, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("availability_zone", sa.String(length=255), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("vcpus", sa.BigInteger(), nullable=False),
        sa.Column("memory_mb", sa.BigInteger(), nullable=False),
        sa.Column("disk_gb", sa.BigInteger(), nullable=False),
        sa.Column("vcpus_reserved", sa.BigInteger(), nullable=False),
        sa.Column("memory_mb_reserved", sa.BigInteger(), nullable=False),
        sa.Column("disk_gb_reserved", sa.BigInteger(), nullable=False),
        sa.Column("vcpus_ratio", sa.Float(), nullable=False),
        sa.Column("memory_mb_ratio", sa.Float(), nullable=False),
        sa.Column("disk_gb_ratio", sa.Float(), nullable=False),
        sa.Column("vcpus_capacity", sa.BigInteger(), nullable=False),
        sa.Column("memory_mb_capacity", sa.BigInteger(), nullable=False),
        sa.Column("disk_gb_capacity", sa.BigInteger(), nullable=False),
        sa.Column("vcpus_used", sa.BigInteger(), nullable=False),
        sa.Column("memory_mb_used", sa.BigInteger(), nullable=False),
        sa.Column("disk_gb_used", sa.BigInteger(), nullable=False),
        sa.Column("hypervisor_type", sa.String(length=255), nullable=False),
        sa.Column("hypervisor_version", sa.Integer(), nullable=False),
        sa.Column("traits", LONG_TEXT, nullable=False),
        sa.Column("reported_at", TIME, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("host", "node", name="hosts_host_node_key"),
        **TABLE,
    )
    op.create_index("ix_hosts_cell_uuid", "hosts", ["cell_uuid"], unique=False)
    op.create_table(
        "claims",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("host_id", KEY, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("vcpus", sa.BigInteger(), nullable=False),
        sa.Column("memory_mb", sa.BigInteger(), nullable=False),
        sa.Column("disk_gb", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["host_id"],
            ["hosts.id"],
        ),
        sa.PrimaryKeyConstraint("instance_uuid"),
        **TABLE,
    )
    op.create_index("ix_claims_host_id", "claims", ["host_id"], unique=False)
