"""The rules of servers that handlers check, besides the one of the route."""

from roost.api.policy import ADMIN, MEMBER, READER, Rule

SHOW = Rule("os_compute_api:servers:show", READER, "Show a server.")
ALL_PROJECTS = Rule(
    "os_compute_api:servers:index:get_all_tenants", ADMIN, "List the servers of all projects."
)
ALL_FILTERS = Rule(
    "os_compute_api:servers:allow_all_filters",
    ADMIN,
    "Filter lists by host, deletion and the like.",
)
FORCED_HOST = Rule(
    "os_compute_api:servers:create:forced_host",
    ADMIN,
    "Specify the host of a new server in its availability zone, zone:host:node.",
)
TRUSTED_CERTS = Rule(
    "os_compute_api:servers:create:trusted_certs",
    MEMBER,
    "Specify trusted certificates for a server's image.",
)
ZERO_DISK = Rule(
    "os_compute_api:servers:create:zero_disk_flavor",
    ADMIN,
    "Create servers of flavors whose root disk has size 0: it is as large as the image.",
)
REQUESTED_HOST = Rule(
    "compute:servers:create:requested_destination", ADMIN, "Specify the host of a new server."
)
HOST_HINTS = Rule(
    "roost:servers:create:host_hints",
    ADMIN,
    "Use the scheduler hints build_near_host_ip and query: their results reveal the names"
    " of hosts.",
)
SHOW_HOST = Rule(
    "os_compute_api:os-extended-server-attributes",
    ADMIN,
    "See a server's host and other internal attributes.",
)
SHOW_HOST_STATUS = Rule(
    "os_compute_api:servers:show:host_status", ADMIN, "See whether a server's host is up."
)
SHOW_PLACEMENT_COUNTS = Rule(
    "roost:servers:show:placement_counts",
    ADMIN,
    "See in a server's fault how many hosts were refused for which reason; all users who may"
    " see the server see the reasons.",
)
