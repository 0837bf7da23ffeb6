"""Remember images that will get no data."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, UUID

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "forsaken_images",
        sa.Column("image_id", UUID, nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.PrimaryKeyConstraint("image_id"),
        **TABLE,
    )
