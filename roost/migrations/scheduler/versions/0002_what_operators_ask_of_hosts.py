"""What operators ask of hosts.

Both columns are filled by the next report of each host: it says more than the one before.
"""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT, UUID

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("hosts", sa.Column("node_uuid", UUID, nullable=True))
    op.add_column("hosts", sa.Column("details", LONG_TEXT, nullable=True))
    op.create_index("ix_hosts_node_uuid", "hosts", ["node_uuid"], unique=False)
