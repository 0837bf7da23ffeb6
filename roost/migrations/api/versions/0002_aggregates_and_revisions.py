"""Aggregates and revisions."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, TABLE, TIME, UUID

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
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
        "api_revisions",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
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
