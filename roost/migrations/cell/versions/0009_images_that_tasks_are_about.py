"""Images that tasks are about."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("instances", sa.Column("task_image", LONG_TEXT, nullable=True))
