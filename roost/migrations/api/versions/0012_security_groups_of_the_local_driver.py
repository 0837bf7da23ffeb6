"""Security groups of the local driver."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, TIME, UUID

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
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
