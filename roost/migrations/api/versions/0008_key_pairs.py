"""Key pairs."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "key_pair_owners",
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
        **TABLE,
    )
    op.create_table(
        "key_pairs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("public_key", LONG_TEXT, nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user_id", "name", name="key_pairs_user_id_name_key"),
        sa.UniqueConstraint("uuid", name="key_pairs_uuid_key"),
        **TABLE,
    )
