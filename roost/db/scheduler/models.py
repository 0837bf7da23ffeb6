"""Tables of the scheduler's own database. Only schedulers read or write them."""

import sqlalchemy as sa

from roost.db.types import Json, Key, LongText, UtcDateTime, Uuid

metadata = sa.MetaData()


def _amount(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, default=0)


# used and instances_used are the sum of the host's claims, updated in the transaction that changes
# them. generation grows with every change, described with every change of anything but usage, so a
# scheduler can see what of its cache is stale. touched_at is the database's clock at the last
# change.
hosts = sa.Table(
    "hosts",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("node", sa.String(255), nullable=False),
    sa.Column("node_uuid", Uuid, index=True),  # derived from host and node
    sa.Column("cell_uuid", Uuid, nullable=False, index=True),
    sa.Column("availability_zone", sa.String(255), nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False, default=True),
    # version of the operator's request that set enabled; lower ones are ignored
    sa.Column("enabled_version", sa.BigInteger, nullable=False, default=0),
    sa.Column("told_down", sa.Boolean, nullable=False, default=False),
    # amounts by provider and resource class
    sa.Column("used", Json, nullable=False, default=dict),
    _amount("instances_used"),
    _amount("io_operations"),
    _amount("failed_builds"),
    sa.Column("host_ip", sa.String(64)),
    # JSON: values that many hosts share; inventories of the node and its parts, as reports.py has
    # them; NUMA cells and PCI pools; the host's metrics
    sa.Column("profile", LongText, nullable=False),
    sa.Column("inventories", LongText, nullable=False, default="[]"),
    sa.Column("topology", LongText),
    sa.Column("metrics", LongText),
    # JSON: values that only operators see
    sa.Column("details", LongText),
    # JSON, new in every report: the load of 1, 5 and 15 minutes, and the number of logged-in users
    sa.Column("node_load", sa.String(128)),
    # JSON list: instances of the last report that had no claim
    sa.Column("unclaimed", LongText),
    # of the last report: its description of the host, and its instances
    sa.Column("description_digest", sa.String(64), nullable=False),
    sa.Column("contents_digest", sa.String(64), nullable=False),
    # the generation at which claims and report last agreed
    sa.Column("settled", sa.BigInteger, nullable=False, default=0),
    # time of the last report by the clock of this database; and its version by the host's own
    sa.Column("reported_at", UtcDateTime, nullable=False),
    sa.Column("report_version", sa.BigInteger),
    sa.Column("generation", sa.BigInteger, nullable=False, default=0),
    sa.Column("described", sa.BigInteger, nullable=False, default=0),
    sa.Column("touched_at", UtcDateTime, nullable=False, index=True),
    sa.UniqueConstraint("host", "node"),
)

# Kept for a while, so that who asks for changes learns of them; see tombstones.forget.
removed_hosts = sa.Table(
    "removed_hosts",
    metadata,
    sa.Column("id", Key, primary_key=True, autoincrement=False),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("node", sa.String(255), nullable=False),
    sa.Column("node_uuid", Uuid),
    sa.Column("cell_uuid", Uuid, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("described", sa.BigInteger, nullable=False),
    sa.Column("removed_at", UtcDateTime, nullable=False, index=True),
)

# An instance that moves has two: on its host, and on the one that it moves to. They have different
# numbers, so that of two schedulers that claim a host for it at once one fails.
claims = sa.Table(
    "claims",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("host_id", Key, sa.ForeignKey("hosts.id"), primary_key=True, index=True),
    sa.Column("number", sa.SmallInteger, nullable=False, default=0),  # or 1
    sa.Column("request_uuid", Uuid),
    sa.Column("project_id", sa.String(255)),
    sa.Column("group_uuid", Uuid, index=True),
    # amounts by provider and resource class
    sa.Column("allocations", Json, nullable=False, default=dict),
    sa.Column("details", LongText),  # JSON: NUMA, PCI devices
    sa.Column("state", sa.String(16), nullable=False),  # reserved, attested, confirmed by the host
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("instance_uuid", "number"),
    sa.Index("claims_by_age", "state", "created_at"),
)

# A transaction that changes claims of the group locks the row before hosts, and raises generation.
server_groups = sa.Table(
    "server_groups",
    metadata,
    sa.Column("uuid", Uuid, primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False, default=0),
    # as last received from the API level
    sa.Column("version", sa.BigInteger, nullable=False, default=0),
    sa.Column("deleted", sa.Boolean, nullable=False, default=False),
    sa.Column("deleted_at", UtcDateTime),  # set by the next run of tombstones.forget
)

# Deleted ones stay for a while, so that a late message does not bring them back.
aggregates = sa.Table(
    "aggregates",
    metadata,
    sa.Column("uuid", Uuid, primary_key=True),
    sa.Column("aggregate", LongText, nullable=False),  # the object, as received
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False, default=False),
    sa.Column("deleted_at", UtcDateTime),
)

# Cells whose conductors report which of their hosts are up.
cells = sa.Table(
    "cells",
    metadata,
    sa.Column("cell_uuid", Uuid, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("reported_at", UtcDateTime, nullable=False),
)

# The bus user that is bound to each cell.
cell_users = sa.Table(
    "cell_users",
    metadata,
    sa.Column("cell_uuid", Uuid, primary_key=True),
    sa.Column("bus_user", sa.String(255), nullable=False, unique=True),
)

# What each scheduler process reads of hosts' reports: a JSON list of the parts.
report_readers = sa.Table(
    "report_readers",
    metadata,
    sa.Column("reader", Uuid, primary_key=True),
    sa.Column("parts", LongText, nullable=False),
    sa.Column("noted_at", UtcDateTime, nullable=False),
)

# Change counters by name, with which schedulers check their caches.
revisions = sa.Table(
    "revisions",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)
