"""The key pair of an instance."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("instances", sa.Column("keypair", LONG_TEXT, nullable=True))
