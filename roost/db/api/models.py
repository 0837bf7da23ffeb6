"""Tables of the API-level database."""

import sqlalchemy as sa

from roost.db.types import Key, LongText, UtcDateTime, Uuid

metadata = sa.MetaData()

cell_mappings = sa.Table(
    "cell_mappings",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("transport_url", sa.Text),
    sa.Column("database_url", sa.Text, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
)

host_mappings = sa.Table(
    "host_mappings",
    metadata,
    sa.Column("host", sa.String(255), primary_key=True),
    sa.Column("cell_uuid", Uuid, nullable=False, index=True),
)

# What was asked for, and by whom: one row per POST, however many instances it wishes for.
request_specs = sa.Table(
    "request_specs",
    metadata,
    sa.Column("request_uuid", Uuid, primary_key=True),
    sa.Column("spec", LongText, nullable=False),
)

# A row is one wish that nobody has fulfilled yet. Whoever works on it holds the lease.
build_requests = sa.Table(
    "build_requests",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, unique=True),
    sa.Column("request_uuid", Uuid, nullable=False, index=True),
    sa.Column("request_id", sa.String(64), nullable=False),
    sa.Column("project_id", sa.String(255), nullable=False, index=True),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("instance", LongText, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("lease_owner", sa.String(64)),
    sa.Column("lease_until", UtcDateTime, index=True),
)

# queued_for_delete: its user is rid of it (and it counts against no quota); the row stays until
# the cell has buried the instance.
instance_mappings = sa.Table(
    "instance_mappings",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, unique=True),
    sa.Column("request_uuid", Uuid, nullable=False),
    sa.Column("cell_uuid", Uuid, index=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("vcpus", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("queued_for_delete", sa.Boolean, nullable=False, default=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Index("instance_mappings_by_project", "project_id", "queued_for_delete"),
)

# One row per project, changed only by conditional updates, so it is exact under any concurrency.
quota_usages = sa.Table(
    "quota_usages",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("instances", sa.BigInteger, nullable=False, default=0),
    sa.Column("cores", sa.BigInteger, nullable=False, default=0),
    sa.Column("ram", sa.BigInteger, nullable=False, default=0),
)

quota_limits = sa.Table(
    "quota_limits",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("resource", sa.String(64), primary_key=True),
    sa.Column("hard_limit", sa.BigInteger, nullable=False),
)

flavors = sa.Table(
    "flavors",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("flavorid", sa.String(255), nullable=False, unique=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("vcpus", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("root_gb", sa.Integer, nullable=False),
    sa.Column("ephemeral_gb", sa.Integer, nullable=False, default=0),
    sa.Column("swap", sa.Integer, nullable=False, default=0),
    sa.Column("rxtx_factor", sa.Float, nullable=False, default=1.0),
    sa.Column("is_public", sa.Boolean, nullable=False, default=True),
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("description", sa.Text),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime),
)

flavor_extra_specs = sa.Table(
    "flavor_extra_specs",
    metadata,
    sa.Column("flavor_id", Key, sa.ForeignKey("flavors.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("value", sa.String(255), nullable=False),
)
