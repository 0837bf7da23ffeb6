"""Limits of users within projects."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "quota_user_limits",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=64), nullable=False),
        sa.Column("hard_limit", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", "resource"),
        **TABLE,
    )
    op.create_index(
        "instance_mappings_by_user", "instance_mappings", ["project_id", "user_id"], unique=False
    )
