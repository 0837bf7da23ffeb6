"""The filters of lists by tags, as the network API has them."""

from collections.abc import Collection

from roost.api.call import Call


def passes(call: Call, tags: Collection[str]) -> bool:
    """Tell whether a thing with these tags is in a list, as far as the query is about tags."""
    has = set(tags)
    return (
        has.issuperset(_asked(call, "tags"))
        and ("tags-any" not in call.query or not has.isdisjoint(_asked(call, "tags-any")))
        and ("not-tags" not in call.query or not has.issuperset(_asked(call, "not-tags")))
        and has.isdisjoint(_asked(call, "not-tags-any"))
    )


def _asked(call: Call, name: str) -> list[str]:
    return [tag for value in call.query.all(name) for tag in value.split(",") if tag]
