"""Find instances by their tags, those that there are, too."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import TABLE, UUID

revision = "0006"
down_revision = "0005"
_AT_ONCE = 1000
_instances = sa.table("instances", sa.column("id"), sa.column("uuid"), sa.column("tags"))


def upgrade() -> None:
    index = op.create_table(
        "instance_tags",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "digest"),
        **TABLE,
    )
    op.create_index(
        "instance_tags_by_digest", "instance_tags", ["digest", "instance_uuid"], unique=False
    )
    for page in _pages():
        op.bulk_insert(index, [row for instance in page for row in _rows(instance)])


def _pages() -> Iterator[list[Any]]:
    """Yield the instances that have tags."""
    last = 0
    query = sa.select(_instances).where(_instances.c.tags != "[]").order_by(_instances.c.id)
    while page := list(op.get_bind().execute(query.where(_instances.c.id > last).limit(_AT_ONCE))):
        yield page
        last = page[-1].id


def _rows(instance: Any) -> list[dict[str, str]]:
    digests = {hashlib.sha256(tag.encode()).hexdigest()[:32] for tag in json.loads(instance.tags)}
    return [{"instance_uuid": instance.uuid, "digest": digest} for digest in sorted(digests)]
