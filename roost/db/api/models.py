"""Tables of the API-level database."""

import sqlalchemy as sa

from roost.db.types import Key, LongText, StringList, UtcDateTime, Uuid

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

# Request specs: one row per POST, however many instances it requests. The row is deleted with the
# mapping of the last of them.
request_specs = sa.Table(
    "request_specs",
    metadata,
    sa.Column("request_uuid", Uuid, primary_key=True),
    sa.Column("spec", LongText, nullable=False),
    sa.Column("zone_and_hints", LongText),  # of the spec, if it has any: what servers show of it
)

# One row per requested instance that is in no cell yet. The super-conductor that works on it holds
# the lease, and records the target cell before it creates anything there.
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
    sa.Column("cell_uuid", Uuid),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("lease_owner", sa.String(64)),
    sa.Column("lease_until", UtcDateTime, index=True),
)

# queued_for_delete: its user has deleted it (and it counts against no quota); the row stays until
# the cell has deleted the instance. withdrawn: it was deleted as a build request, and never was a
# server, though its target cell may have a row of it for a moment.
instance_mappings = sa.Table(
    "instance_mappings",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, unique=True),
    sa.Column("request_uuid", Uuid, nullable=False, index=True),
    sa.Column("cell_uuid", Uuid, index=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("vcpus", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("resize_uuid", Uuid),  # the migration that these are for; see resizes.py
    sa.Column("queued_for_delete", sa.Boolean, nullable=False, default=False),
    sa.Column("withdrawn", sa.Boolean, nullable=False, default=False, server_default="0"),
    # soft-deleted since; and the soft delete or restore that its cell is to begin: soft_delete.py
    sa.Column("put_away_at", UtcDateTime),
    sa.Column("operation_uuid", Uuid),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Index("instance_mappings_by_project", "project_id", "queued_for_delete"),
    sa.Index("instance_mappings_by_user", "project_id", "user_id"),
    sa.Index("instance_mappings_put_away", "put_away_at"),
    sa.Index("instance_mappings_unsettled", "operation_uuid"),
    sa.Index("instance_mappings_resized", "resize_uuid"),
)

# Mappings of deleted instances, until their cells purge them; see instance_mappings.py.
deleted_mappings = sa.Table(
    "deleted_mappings",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("request_uuid", Uuid, nullable=False),
    sa.Column("cell_uuid", Uuid, nullable=False),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("deleted_at", UtcDateTime, nullable=False),
    sa.Index("deleted_mappings_by_age", "cell_uuid", "deleted_at"),
)

# One row per project, changed only by conditional updates, so it is exact under any concurrency.
quota_usages = sa.Table(
    "quota_usages",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("instances", sa.BigInteger, nullable=False, default=0),
    sa.Column("cores", sa.BigInteger, nullable=False, default=0),
    sa.Column("ram", sa.BigInteger, nullable=False, default=0),
    sa.Column("server_groups", sa.BigInteger, nullable=False, default=0, server_default="0"),
)

quota_limits = sa.Table(
    "quota_limits",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("resource", sa.String(64), primary_key=True),
    sa.Column("hard_limit", sa.BigInteger, nullable=False),
)

# Limits of users within a project, beside its own. Their usage is counted when it is needed.
quota_user_limits = sa.Table(
    "quota_user_limits",
    metadata,
    sa.Column("project_id", sa.String(255), primary_key=True),
    sa.Column("user_id", sa.String(255), primary_key=True),
    sa.Column("resource", sa.String(64), primary_key=True),
    sa.Column("hard_limit", sa.BigInteger, nullable=False),
)

# Limits that operators set by the name of a class; those of the class "default" apply to every
# project that has none of its own.
quota_class_limits = sa.Table(
    "quota_class_limits",
    metadata,
    sa.Column("class_name", sa.String(255), primary_key=True),
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
    sa.Column("rxtx_factor", sa.Double, nullable=False, default=1.0),
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

# Who may use a flavor that is not public.
flavor_projects = sa.Table(
    "flavor_projects",
    metadata,
    sa.Column("flavor_id", Key, sa.ForeignKey("flavors.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("project_id", sa.String(255), primary_key=True, index=True),
)

# Host aggregates. version is the number that revisions gave the last change.
host_aggregates = sa.Table(
    "host_aggregates",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime),
)

aggregate_hosts = sa.Table(
    "aggregate_hosts",
    metadata,
    sa.Column(
        "aggregate_id",
        Key,
        sa.ForeignKey("host_aggregates.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("host", sa.String(255), primary_key=True, index=True),
)

aggregate_metadata = sa.Table(
    "aggregate_metadata",
    metadata,
    sa.Column(
        "aggregate_id",
        Key,
        sa.ForeignKey("host_aggregates.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("value", sa.String(255), nullable=False),
)

# The last version given to any object of a kind; see revisions.py.
api_revisions = sa.Table(
    "api_revisions",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)

# Public keys by which users log into their servers. uuid names the creation, so that a retry of it
# finds its own row.
key_pairs = sa.Table(
    "key_pairs",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("public_key", LongText, nullable=False),
    sa.Column("fingerprint", sa.String(255), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("user_id", "name"),
)

# Users who have, or had, key pairs: a transaction locks the user's row to count and add.
key_pair_owners = sa.Table(
    "key_pair_owners",
    metadata,
    sa.Column("user_id", sa.String(255), primary_key=True),
)

# Networks that users make for the local driver; one without cidr has no subnet yet.
networks = sa.Table(
    "networks",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project_id", sa.String(255), nullable=False, index=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("shared", sa.Boolean, nullable=False),
    sa.Column("cidr", sa.String(64)),
    sa.Column("subnet_name", sa.String(255)),
    sa.Column("subnet_tags", StringList),
    sa.Column("admin_state_up", sa.Boolean, nullable=False, default=True, server_default="1"),
    sa.Column("tags", StringList),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

# Which servers use which network, until their mapping is deleted.
network_uses = sa.Table(
    "network_uses",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("network_id", Uuid, primary_key=True, index=True),
)

# Ports that users create before their servers, on any network of the local driver; instance_uuid:
# the server that has the port, until its mapping is deleted.
made_ports = sa.Table(
    "made_ports",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project_id", sa.String(255), nullable=False, index=True),
    sa.Column("network_id", Uuid, nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("ip", sa.String(39), nullable=False),
    sa.Column("mac", sa.String(17), nullable=False, unique=True),
    sa.Column("admin_state_up", sa.Boolean, nullable=False, default=True, server_default="1"),
    sa.Column("tags", StringList),
    sa.Column("instance_uuid", Uuid, index=True),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("network_id", "ip"),
)

# Security groups of the local driver. A project's group "default" is created on first use, with an
# id derived from the project.
security_groups = sa.Table(
    "security_groups",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("project_id", "name"),
)

security_group_rules = sa.Table(
    "security_group_rules",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("group_id", Uuid, nullable=False, index=True),
    sa.Column("direction", sa.String(8), nullable=False),
    sa.Column("ethertype", sa.String(4), nullable=False),
    sa.Column("protocol", sa.String(32)),
    sa.Column("port_min", sa.Integer),
    sa.Column("port_max", sa.Integer),
    sa.Column("remote_prefix", sa.String(64)),
    sa.Column("remote_group_id", Uuid, index=True),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

# Which servers are in which groups, until their mapping is deleted; a server without a row is in
# the default group.
security_group_members = sa.Table(
    "security_group_members",
    metadata,
    sa.Column("instance_uuid", Uuid, primary_key=True),
    sa.Column("group_id", Uuid, primary_key=True, index=True),
)

# Server groups: affinity or anti-affinity. version is the number that revisions gave to the
# creation: only members change later.
instance_groups = sa.Table(
    "instance_groups",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("uuid", Uuid, nullable=False, unique=True),
    sa.Column("project_id", sa.String(255), nullable=False, index=True),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("policy", sa.String(64), nullable=False),
    sa.Column("max_server_per_host", sa.Integer),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

# Members, from the request of the instance until its user deletes it. An instance is in one group
# at most.
instance_group_members = sa.Table(
    "instance_group_members",
    metadata,
    sa.Column("id", Key, primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, unique=True),
    sa.Column(
        "group_id",
        Key,
        sa.ForeignKey("instance_groups.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
)

# Console tokens, until they expire or the server is deleted: a digest of the token that the user
# has, and the address of the host's listener that knows the token.
console_tokens = sa.Table(
    "console_tokens",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("instance_uuid", Uuid, nullable=False, index=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("port", sa.Integer, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False, index=True),
)
