"""Which user of the bus speaks for which cell."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, UUID

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "cell_users",
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("bus_user", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("cell_uuid"),
        sa.UniqueConstraint("bus_user", name="cell_users_bus_user_key"),
        **TABLE,
    )
