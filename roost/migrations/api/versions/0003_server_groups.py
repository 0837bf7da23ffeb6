"""Server groups."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, TABLE, TIME, UUID

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
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
    op.add_column(
        "quota_usages",
        sa.Column("server_groups", sa.BigInteger(), server_default="0", nullable=False),
    )
