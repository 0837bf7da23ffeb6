"""Who may use flavors that are not public."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, TABLE

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "flavor_projects",
        sa.Column("flavor_id", KEY, nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavors.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("flavor_id", "project_id"),
        **TABLE,
    )
    op.create_index(
        "ix_flavor_projects_project_id", "flavor_projects", ["project_id"], unique=False
    )
