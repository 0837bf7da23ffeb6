"""When conductors swept, and which state path a host has."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, TIME, UUID

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last_up", TIME, nullable=False),
        sa.Column("gap_began", TIME, nullable=True),
        sa.Column("gap_ended", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.add_column("services", sa.Column("state_id", UUID, nullable=True))
    op.add_column("services", sa.Column("starts", sa.Integer(), server_default="0", nullable=False))
    op.add_column("services", sa.Column("run_id", UUID, nullable=True))
