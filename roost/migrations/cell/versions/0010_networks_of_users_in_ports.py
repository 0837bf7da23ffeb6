"""Networks of users in ports."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("ports", sa.Column("network_name", sa.String(length=255), nullable=True))
    op.add_column("ports", sa.Column("cidr", sa.String(length=64), nullable=True))
