"""Locks of servers: who locked one, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # daemons of the release before say nothing of it when they insert a row
    op.add_column(
        "instances", sa.Column("locked", sa.Boolean(), server_default="0", nullable=False)
    )
    op.add_column("instances", sa.Column("locked_by", sa.String(length=16), nullable=True))
    op.add_column("instances", sa.Column("locked_reason", sa.String(length=255), nullable=True))
