"""Remember when a service was disabled."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TIME

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("services", sa.Column("disabled_at", TIME, nullable=True))
