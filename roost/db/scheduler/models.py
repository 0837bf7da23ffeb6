"""Tables of the scheduler's own database. Nobody else reads or writes them."""

import sqlalchemy as sa

from roost.db.types import Key, LongText, UtcDateTime, Uuid

metadata = sa.MetaData()


def _amount(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, default=0)


def _ratio(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Float, nullable=False, default=1.0)


# *_used is the sum of the host's claims, kept in the transaction that changes them; generation
# grows with every change, so a scheduler can tell whether what it remembers still holds.
hosts = sa.Table(
    "hosts",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("node", sa.String(255), nullable=False),
    sa.Column("cell_uuid", Uuid, nullable=False, index=True),
    sa.Column("availability_zone", sa.String(255), nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False, default=True),
    _amount("vcpus"),
    _amount("memory_mb"),
    _amount("disk_gb"),
    _amount("vcpus_reserved"),
    _amount("memory_mb_reserved"),
    _amount("disk_gb_reserved"),
    _ratio("vcpus_ratio"),
    _ratio("memory_mb_ratio"),
    _ratio("disk_gb_ratio"),
    _amount("vcpus_capacity"),
    _amount("memory_mb_capacity"),
    _amount("disk_gb_capacity"),
    _amount("vcpus_used"),
    _amount("memory_mb_used"),
    _amount("disk_gb_used"),
    sa.Column("hypervisor_type", sa.String(255), nullable=False),
    sa.Column("hypervisor_version", sa.Integer, nullable=False, default=0),
    sa.Column("traits", LongText, nullable=False),
    sa.Column("reported_at", UtcDateTime, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, default=0),
    sa.UniqueConstraint("host", "node"),
)

claims = sa.Table(
    "claims",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("host_id", Key, sa.ForeignKey("hosts.id"), nullable=False, index=True),
    sa.Column("request_uuid", Uuid, nullable=False),
    sa.Column("project_id", sa.String(255), nullable=False),
    _amount("vcpus"),
    _amount("memory_mb"),
    _amount("disk_gb"),
    sa.Column("state", sa.String(16), nullable=False),  # reserved, then confirmed by the host
    sa.Column("created_at", UtcDateTime, nullable=False),
)
