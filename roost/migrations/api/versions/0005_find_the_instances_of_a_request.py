"""Find the instances of a request."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_index(
        "ix_instance_mappings_request_uuid", "instance_mappings", ["request_uuid"], unique=False
    )
