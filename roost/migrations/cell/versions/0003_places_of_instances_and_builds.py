"""Places of instances and builds."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("builds", sa.Column("selection", LONG_TEXT, nullable=True))
    op.add_column("instances", sa.Column("numa_topology", LONG_TEXT, nullable=True))
    op.add_column("instances", sa.Column("pci", LONG_TEXT, nullable=True))
