"""Servers that are put away, as the API level knows them."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TIME

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("instance_mappings", sa.Column("put_away_at", TIME, nullable=True))
    op.add_column(
        "instance_mappings", sa.Column("turns", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "instance_mappings", sa.Column("unheard", sa.Boolean(), server_default="0", nullable=False)
    )
    op.create_index(
        "instance_mappings_put_away", "instance_mappings", ["put_away_at"], unique=False
    )
    op.create_index("instance_mappings_unheard", "instance_mappings", ["unheard"], unique=False)
