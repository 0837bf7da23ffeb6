"""Locks of servers, as the API level knows them."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column(
        "instance_mappings", sa.Column("locked", sa.Boolean(), server_default="0", nullable=False)
    )
