"""Versions of reports.

Which of two reports of a host is the later one is the host's word; when it was heard is ours. The
column is filled by the next report of each host.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("hosts", sa.Column("report_version", sa.BigInteger(), nullable=True))
