"""Tokens that open consoles."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, TIME, UUID

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "console_tokens",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest"),
        **TABLE,
    )
    op.create_index("ix_console_tokens_expires_at", "console_tokens", ["expires_at"], unique=False)
    op.create_index(
        "ix_console_tokens_instance_uuid", "console_tokens", ["instance_uuid"], unique=False
    )
