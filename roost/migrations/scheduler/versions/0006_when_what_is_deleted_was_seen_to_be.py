"""When what is deleted was seen to be: so that it is forgotten some day."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TIME

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    for table in ("server_groups", "aggregates"):
        op.add_column(table, sa.Column("deleted_at", TIME, nullable=True))
