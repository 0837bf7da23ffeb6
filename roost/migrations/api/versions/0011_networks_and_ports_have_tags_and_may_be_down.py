"""Networks, subnets and ports have tags, and may be down.

Nothing written of tags means that there are none.
"""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    for table in ("networks", "made_ports"):
        op.add_column(
            table, sa.Column("admin_state_up", sa.Boolean(), server_default="1", nullable=False)
        )
        op.add_column(table, sa.Column("tags", LONG_TEXT, nullable=True))
    op.add_column("networks", sa.Column("subnet_tags", LONG_TEXT, nullable=True))
