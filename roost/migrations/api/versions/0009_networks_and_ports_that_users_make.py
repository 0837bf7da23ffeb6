"""Networks and ports that users make."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, TIME, UUID

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "made_ports",
        sa.Column("id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("network_id", UUID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("ip", sa.String(length=39), nullable=False),
        sa.Column("mac", sa.String(length=17), nullable=False),
        sa.Column("instance_uuid", UUID, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("mac", name="made_ports_mac_key"),
        sa.UniqueConstraint("network_id", "ip", name="made_ports_network_id_ip_key"),
        **TABLE,
    )
    op.create_index("ix_made_ports_instance_uuid", "made_ports", ["instance_uuid"], unique=False)
    op.create_index("ix_made_ports_project_id", "made_ports", ["project_id"], unique=False)
    op.create_table(
        "network_uses",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("network_id", UUID, nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "network_id"),
        **TABLE,
    )
    op.create_index("ix_network_uses_network_id", "network_uses", ["network_id"], unique=False)
    op.create_table(
        "networks",
        sa.Column("id", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("cidr", sa.String(length=64), nullable=True),
        sa.Column("subnet_name", sa.String(length=255), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index("ix_networks_project_id", "networks", ["project_id"], unique=False)
