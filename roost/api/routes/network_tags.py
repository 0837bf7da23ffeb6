"""Tags in the network API: the same paths below each noun."""

from typing import Final

from roost.api.network_tags import NetworkTags
from roost.api.policies import networks as policies
from roost.api.route import Route, row
from roost.api.schemas.networks import REPLACE_TAGS

# Nouns, and the rules of who sees one and who changes it.
_NOUNS: Final = {
    "network": (policies.SHOW, policies.UPDATE),
    "subnet": (policies.SHOW_SUBNET, policies.UPDATE_SUBNET),
    "port": (policies.SHOW_PORT, policies.UPDATE_PORT),
}
_Tags: Final = NetworkTags


def _routes(noun: str, see: str, change: str) -> tuple[Route, ...]:
    tags = f"/network/v2.0/{noun}s/{{{noun}_id}}/tags"
    tag = f"{tags}/{{tag}}"
    return (
        row(f"GET {tags}", (_Tags, _Tags.list_all), see),
        row(f"PUT {tags}", (_Tags, _Tags.replace), change, body=REPLACE_TAGS),
        row(f"DELETE {tags}", (_Tags, _Tags.clear), change, status=204),
        row(f"GET {tag}", (_Tags, _Tags.show), see, status=204),
        row(f"PUT {tag}", (_Tags, _Tags.add), change, status=201),
        row(f"DELETE {tag}", (_Tags, _Tags.remove), change, status=204),
    )


ROUTES: Final[tuple[Route, ...]] = tuple(
    route for noun, rules in _NOUNS.items() for route in _routes(noun, *rules)
)
