"""What guests are provided with; find instances by their addresses, those that there are, too."""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import LONG_TEXT, TABLE, TIME, UUID

revision = "0008"
down_revision = "0007"
_AT_ONCE = 1000
_instances = sa.table("instances", sa.column("id"), sa.column("uuid"), sa.column("network_info"))


def upgrade() -> None:
    index = op.create_table(
        "instance_addresses",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("ip", sa.String(length=39), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("instance_uuid", "ip"),
        **TABLE,
    )
    op.create_index("instance_addresses_by_ip", "instance_addresses", ["ip"], unique=False)
    op.create_table(
        "instance_provisions",
        sa.Column("instance_uuid", UUID, nullable=False),
        sa.Column("provisions", LONG_TEXT, nullable=True),
        sa.Column("password", LONG_TEXT, nullable=True),
        sa.PrimaryKeyConstraint("instance_uuid"),
        **TABLE,
    )
    op.add_column(
        "instances",
        sa.Column("disk_config", sa.String(length=16), server_default="MANUAL", nullable=False),
    )
    op.add_column("instances", sa.Column("root_device_name", sa.String(length=255), nullable=True))
    op.add_column("instances", sa.Column("security_groups", LONG_TEXT, nullable=True))
    op.add_column("instances", sa.Column("trusted_certs", LONG_TEXT, nullable=True))
    op.add_column("instances", sa.Column("soft_deleted_at", TIME, nullable=True))
    op.create_index("instances_put_away", "instances", ["soft_deleted_at"], unique=False)
    for page in _pages():
        op.bulk_insert(index, [row for instance in page for row in _rows(instance)])


def _pages() -> Iterator[list[Any]]:
    """Yield the instances that have interfaces."""
    last = 0
    query = sa.select(_instances).where(_instances.c.network_info.is_not(None))
    query = query.order_by(_instances.c.id).limit(_AT_ONCE)
    while page := list(op.get_bind().execute(query.where(_instances.c.id > last))):
        yield page
        last = page[-1].id


def _rows(instance: Any) -> list[dict[str, Any]]:
    vifs = json.loads(instance.network_info)["roost_object.data"]["vifs"]
    ips = sorted({vif["roost_object.data"]["ip"] for vif in vifs})
    return [
        {"instance_uuid": instance.uuid, "ip": ip, "version": 6 if ":" in ip else 4} for ip in ips
    ]
