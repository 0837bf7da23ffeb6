"""The scheduler schema of 0.1."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "aggregates",
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("aggregate", LONG_TEXT, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("uuid"),
        **TABLE,
    )
    op.create_table(
        "cell_users",
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("bus_user", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("cell_uuid"),
        sa.UniqueConstraint("bus_user", name="cell_users_bus_user_key"),
        **TABLE,
    )
    op.create_table(
        "cells",
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("reported_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("cell_uuid"),
        **TABLE,
    )
    op.create_table(
        "hosts",
        sa.Column("id", KEY, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("node_uuid", UUID, nullable=True),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("availability_zone", sa.String(length=255), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("enabled_version", sa.BigInteger(), nullable=False),
        sa.Column("told_down", sa.Boolean(), nullable=False),
        sa.Column("used", LONG_TEXT, nullable=False),
        sa.Column("instances_used", sa.BigInteger(), nullable=False),
        sa.Column("io_operations", sa.BigInteger(), nullable=False),
        sa.Column("failed_builds", sa.BigInteger(), nullable=False),
        sa.Column("host_ip", sa.String(length=64), nullable=True),
        sa.Column("profile", LONG_TEXT, nullable=False),
        sa.Column("inventories", LONG_TEXT, nullable=False),
        sa.Column("topology", LONG_TEXT, nullable=True),
        sa.Column("metrics", LONG_TEXT, nullable=True),
        sa.Column("details", LONG_TEXT, nullable=True),
        sa.Column("node_load", sa.String(length=128), nullable=True),
        sa.Column("unclaimed", LONG_TEXT, nullable=True),
        sa.Column("description_digest", sa.String(length=64), nullable=False),
        sa.Column("contents_digest", sa.String(length=64), nullable=False),
        sa.Column("settled", sa.BigInteger(), nullable=False),
        sa.Column("reported_at", TIME, nullable=False),
        sa.Column("report_version", sa.BigInteger(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("described", sa.BigInteger(), nullable=False),
        sa.Column("touched_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("host", "node", name="hosts_host_node_key"),
        **TABLE,
    )
    op.create_index("ix_hosts_cell_uuid", "hosts", ["cell_uuid"], unique=False)
    op.create_index("ix_hosts_node_uuid", "hosts", ["node_uuid"], unique=False)
    op.create_index("ix_hosts_touched_at", "hosts", ["touched_at"], unique=False)
    op.create_table(
        "removed_hosts",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("node_uuid", UUID, nullable=True),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("described", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index("ix_removed_hosts_removed_at", "removed_hosts", ["removed_at"], unique=False)
    op.create_table(
        "report_readers",
        sa.Column("reader", UUID, nullable=False),
        sa.Column("parts", LONG_TEXT, nullable=False),
        sa.Column("noted_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("reader"),
        **TABLE,
    )
    op.create_table(
        "revisions",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        **TABLE,
    )
    op.create_table(
        "server_groups",
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("uuid"),
        **TABLE,
    )
    op.create_table(
        "claims",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("host_id", KEY, nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column("request_uuid", UUID, nullable=True),
        sa.Column("project_id", sa.String(length=255), nullable=True),
        sa.Column("group_uuid", UUID, nullable=True),
        sa.Column("allocations", LONG_TEXT, nullable=False),
        sa.Column("details", LONG_TEXT, nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["host_id"],
            ["hosts.id"],
        ),
        sa.PrimaryKeyConstraint("instance_uuid", "host_id"),
        sa.UniqueConstraint("instance_uuid", "number"),
        **TABLE,
    )
    op.create_index("claims_by_age", "claims", ["state", "created_at"], unique=False)
    op.create_index("ix_claims_group_uuid", "claims", ["group_uuid"], unique=False)
    op.create_index("ix_claims_host_id", "claims", ["host_id"], unique=False)
