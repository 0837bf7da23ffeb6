"""Allocations and usages: the claims of instances, which are the consumers.

An instance that moves has claims on two providers.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.placement.providers import ProviderReader, tree_of
from roost.api.placement.rows import row, rule, strict_query
from roost.api.policy import SERVICE
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import is_uuid
from roost.db.api import instance_mappings
from roost.objects.allocations import total
from roost.objects.host import uuid_of_node, uuid_of_provider

USAGES: Final = 9
_OWNERS: Final = 12
_CONSUMER_GENERATION: Final = 28
_CONSUMER_TYPE: Final = 38
_INSTANCE: Final = "INSTANCE"
_ALL: Final = "all"
# A claim is made and deleted as a whole, so its consumer has one generation.
_GENERATION: Final = {"consumer_generation": 1}
_OWNER: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_TYPE: Final = {"type": "string", "pattern": "^([A-Z0-9_]{1,255}|all|unknown)$"}
USAGES_QUERY: Final = strict_query(
    {
        "project_id": (USAGES, _OWNER),
        "user_id": (USAGES, _OWNER),
        "consumer_type": (_CONSUMER_TYPE, _TYPE),
    },
    required={USAGES: ["project_id"]},
)
Claim = Mapping[str, Any]


class Allocations:
    """Handlers of ``/placement/allocations``, ``usages``, and the allocations of a provider."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._database = dependencies.api_database
        self._providers = ProviderReader(dependencies.scheduler, dependencies.api_database)

    def of_provider(self, call: Call) -> Answer:
        provider = self._providers.get(call.context, call.params["provider_uuid"])
        report, part = provider.report, provider.part.name
        generation = _GENERATION if call.version >= _CONSUMER_GENERATION else {}
        shown = {
            claim["instance_uuid"]: {"resources": claim["allocations"][part], **generation}
            for claim in self._scheduler.all_claims(call.context, host=report.host)
            if claim["node"] == report.node and part in claim["allocations"]
        }
        return Answer({"allocations": shown, **provider.generation})

    def of_consumer(self, call: Call) -> Answer:
        """Return the claims of an instance; one that has none, or does not exist, has no claims."""
        consumer = call.params["consumer_uuid"]
        claims = []
        if is_uuid(consumer):
            asked = [str(uuid.UUID(consumer))]
            claims = self._scheduler.list_claims(call.context, instance_uuids=asked)
        shown = {
            identity: {"resources": resources, "generation": generation}
            for claim in claims
            for generation, uuids in [self._node(call, claim)]
            for part, resources in claim["allocations"].items()
            for identity in [uuids.get(part) or uuid_of_provider(uuids[""], part)]
        }
        more = self._consumer(claims[0], call.version) if claims else {}
        return Answer({"allocations": shown, **more})

    def usages(self, call: Call) -> Answer:
        """Sum up the claims of a project, or of its instances that a user created."""
        project, user = call.query.values["project_id"][-1], call.query.one("user_id")
        call.require_for(project)
        claims = list(self._scheduler.all_claims(call.context, project_id=project))
        if user is not None:
            theirs = self._database.query(instance_mappings.of_user, project, user)
            claims = [claim for claim in claims if claim["instance_uuid"] in theirs]
        if call.version < _CONSUMER_TYPE:
            return Answer({"usages": _total(claims)})
        return Answer({"usages": _by_type(claims, call.query.one("consumer_type"))})

    def _node(self, call: Call, claim: Claim) -> tuple[int, dict[str, str]]:
        """Return the generation of a claim's node, and the uuids of its providers by name."""
        node_uuid = uuid_of_node(claim["host"], claim["node"])
        found = self._scheduler.list_hosts(call.context, node_uuid=node_uuid)
        parts = [(one.part.name, one.uuid) for each in found for one in tree_of(each)]
        return found[0].generation if found else 0, {"": node_uuid, **dict(parts)}

    def _consumer(self, claim: Claim, version: int) -> dict[str, Any]:
        if version < _OWNERS:
            return {}
        mapping = self._database.query(instance_mappings.find, claim["instance_uuid"])
        shown = {
            "project_id": claim["project_id"],
            "user_id": None if mapping is None else mapping.user_id,
        }
        if version >= _CONSUMER_GENERATION:
            shown |= _GENERATION
        if version >= _CONSUMER_TYPE:
            shown |= {"consumer_type": _INSTANCE}
        return shown


def _total(claims: Iterable[Claim]) -> dict[str, int]:
    return total(amounts for claim in claims for amounts in claim["allocations"].values())


def _by_type(claims: Collection[Claim], consumer_type: str | None) -> dict[str, Any]:
    if not claims or consumer_type not in (None, _ALL, _INSTANCE):
        return {}
    consumers = {claim["instance_uuid"] for claim in claims}
    return {consumer_type or _INSTANCE: {**_total(claims), "consumer_count": len(consumers)}}


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "/resource_providers/{provider_uuid}/allocations",
        (Allocations, Allocations.of_provider),
        rule("resource_providers:allocations:list", "List the allocations of a provider."),
    ),
    row(
        "/allocations/{consumer_uuid}",
        (Allocations, Allocations.of_consumer),
        rule("allocations:list", "List the allocations of a consumer."),
    ),
    row(
        "/usages",
        (Allocations, Allocations.usages),
        rule("usages", "Show what a project uses.", f"rule:project_reader_api or {SERVICE}"),
        query=USAGES_QUERY,
        since=USAGES,
    ),
)
