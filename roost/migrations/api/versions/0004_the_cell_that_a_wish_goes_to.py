"""The cell that a wish goes to."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import UUID

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("build_requests", sa.Column("cell_uuid", UUID, nullable=True))
