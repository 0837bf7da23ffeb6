"""Ports that are made with servers, for quotas."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, UUID

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "server_ports",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("port_id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("ports", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "port_id"),
        **TABLE,
    )
    op.create_index("ix_server_ports_project_id", "server_ports", ["project_id"])
