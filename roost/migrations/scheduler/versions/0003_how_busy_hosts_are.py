"""How busy hosts are.

The column is filled by the next report of each host, and by every one after it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("hosts", sa.Column("node_load", sa.String(length=128), nullable=True))
