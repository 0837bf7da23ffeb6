"""Leases of all tasks: with the instance, not with its build."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TIME

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("instances", sa.Column("lease_until", TIME, nullable=True))
    op.create_index("instances_by_lease", "instances", ["task_state", "lease_until"], unique=False)
    op.drop_index("ix_builds_lease_until", table_name="builds")
    op.drop_column("builds", "lease_until")  # no release has ever written it
