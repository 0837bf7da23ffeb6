"""How often servers were put away and restored."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("instances", sa.Column("turns", sa.Integer(), server_default="0", nullable=False))
