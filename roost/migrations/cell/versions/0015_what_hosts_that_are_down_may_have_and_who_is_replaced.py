"""What hosts that are down may have, and who is replaced."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, UUID

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "left_behind",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "host"),
        **TABLE,
    )
    op.create_index("ix_left_behind_host", "left_behind", ["host"])
    op.add_column(
        "services", sa.Column("replaced", sa.Boolean(), server_default="0", nullable=False)
    )
