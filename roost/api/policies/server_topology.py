"""Rules of the NUMA topology of servers."""

from roost.api.policies.base import ADMIN, READER, rule

SHOW = "compute:server:topology:index"
HOST = "compute:server:topology:host:index"

_PATH = "GET /servers/{server_id}/topology"

RULES = [
    rule(SHOW, READER, "See the NUMA cells of a server.", _PATH),
    rule(HOST, ADMIN, "See which cells and CPUs of its host they are on.", _PATH),
]
