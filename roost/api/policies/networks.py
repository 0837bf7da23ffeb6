"""Rules of the networks that servers may ask for."""

from roost.api.policies.base import READER, rule

LIST = "roost:networks:list"
SHOW = "roost:networks:show"
EXTENSIONS = "roost:networks:extensions"

RULES = [
    rule(LIST, READER, "List networks.", "GET /network/v2.0/networks"),
    rule(SHOW, READER, "Show a network.", "GET /network/v2.0/networks/{network_id}"),
    rule(EXTENSIONS, READER, "List extensions (none).", "GET /network/v2.0/extensions"),
]
