"""Limits of quota classes."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "quota_class_limits",
        sa.Column("class_name", sa.String(length=255), nullable=False),
        sa.Column("resource", sa.String(length=64), nullable=False),
        sa.Column("hard_limit", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("class_name", "resource"),
        **TABLE,
    )
