"""Copies of security groups, for hosts that filter by them."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT, TABLE

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "security_group_copies",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("security_groups", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
        **TABLE,
    )
