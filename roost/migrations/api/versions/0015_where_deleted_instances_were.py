"""Where deleted instances were."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, TIME, UUID

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "deleted_mappings",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("request_uuid", UUID, nullable=False),
        sa.Column("cell_uuid", UUID, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("deleted_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid"),
        **TABLE,
    )
    op.create_index("deleted_mappings_by_age", "deleted_mappings", ["cell_uuid", "deleted_at"])
