"""What Placement's own tests set up, by Roost's own means: reports of hosts, claims, aggregates.

A root provider becomes a node of its name, a child a part of it. Roost makes the uuids of nodes
and aggregates itself, so each has another one here than in the tests: ``theirs`` and ``ours``
translate.
"""

import dataclasses
import datetime
import itertools
import json
import re
import uuid as uuids

from roost import exception
from roost.db.api import aggregates, build_requests, instance_mappings
from roost.objects import ResourceInventory, ResourceProvider, ResourceRequest
from roost.objects.host import uuid_of_node
from tests.builders import CELL1, NOW, a_context, a_report, a_spec, a_uuid, a_wish, an_instance

_PATH = re.compile(r"/(?P<noun>\w+)(/(?P<identity>[^/]+)(/(?P<part>\w+)(/(?P<name>\w+))?)?)?/?")


@dataclasses.dataclass
class Provider:
    """A provider as the tests describe it; ``inventories`` are numbers by class."""

    uuid: str
    name: str
    parent: str | None
    inventories: dict = dataclasses.field(default_factory=dict)
    traits: list = dataclasses.field(default_factory=list)
    aggregates: list = dataclasses.field(default_factory=list)


class PlacementCloud:
    """Providers, allocations and aggregates of one file of tests."""

    def __init__(self, world, scheduler):
        self._world, self._scheduler = world, scheduler
        self._providers = {}
        self._aggregates = {}
        self._translations = {}
        self._seconds = itertools.count(1)

    def create_provider(self, name, *, uuid=None, parent=None):
        provider = Provider(uuid or a_uuid(), name, parent)
        self._providers[provider.uuid] = provider
        self._report(provider)
        return provider

    def set_inventories(self, uuid, inventories):
        self._change(uuid, inventories=inventories)

    def set_traits(self, uuid, traits):
        self._change(uuid, traits=list(traits))

    def set_aggregates(self, uuid, theirs):
        provider = self._providers[uuid]
        with self._world.api_db.begin() as session:
            for other in theirs:
                if other not in self._aggregates:
                    self._aggregates[other] = made = aggregates.create(session, other, metadata={})
                    self._translations[other] = made.uuid
            for other in set(theirs).difference(provider.aggregates):
                aggregates.add_host(session, self._aggregates[other].id, provider.name)
            for other in set(provider.aggregates).difference(theirs):
                aggregates.remove_host(session, self._aggregates[other].id, provider.name)
        provider.aggregates = list(theirs)

    def delete_provider(self, uuid):
        provider = self._providers.pop(uuid)
        if provider.parent:
            self._report(provider)
        else:
            self._scheduler.remove_host(a_context(), host=provider.name)

    def set_allocations(self, consumer, amounts, *, project_id="project", user_id="user"):
        """Claim for a consumer what it has from each provider, by the providers' uuids."""
        consumer = str(uuids.UUID(consumer))
        self._scheduler.release_claims(a_context(), instance_uuids=[consumer])
        self._know(consumer, project_id=project_id, user_id=user_id)
        beside = []
        by_host = {}
        for uuid, resources in amounts.items():
            mine = by_host.setdefault(self._root(self._providers[uuid]).name, {})
            mine.update(resources)
        for host, resources in by_host.items():
            request = ResourceRequest.of(
                request_uuid=a_uuid(),
                project_id=project_id,
                resources=resources,
                requested_host=host,
                ignore_hosts=beside,
            )
            self._scheduler.select_destinations(
                a_context(),
                request_spec=request,
                instance_uuids=[consumer],
                alternates=0,
                beside=beside[0] if beside else None,
            )
            beside.append(host)

    def ours(self, text):
        """Return a text with our uuids instead of those of the tests."""
        return _replaced(text, self._translations.items())

    def theirs(self, text):
        return _replaced(text, ((ours, theirs) for theirs, ours in self._translations.items()))

    def do(self, method, path, body):
        """Do what a request to write means, if anything; return the path of the result."""
        found = _PATH.fullmatch(path)
        if found is None:
            return path
        body = json.loads(body) if body else {}
        noun, part = found["noun"], found["part"]
        try:
            if noun == "resource_providers" and part is None:
                return self._do_provider(method, found["identity"], body)
            if noun == "resource_providers":
                self._do_part(method, found, body)
            elif noun == "allocations":
                self._do_allocations(method, found["identity"], body)
        except (KeyError, exception.RoostError) as error:
            print(f"{method} {path}: {error!r}")  # pytest shows it with a failure
        return path

    def _do_provider(self, method, uuid, body):
        parent = body.get("parent_provider_uuid")
        if method == "POST":
            uuid = self.create_provider(body["name"], uuid=body.get("uuid"), parent=parent).uuid
        elif method == "PUT":
            self._rename(self._providers[uuid], body["name"], parent)
        else:
            self.delete_provider(uuid)
        return f"/resource_providers/{uuid}"

    def _rename(self, provider, name, parent):
        """Give a provider another name and another parent: as a node, it becomes another one."""
        if not provider.parent:
            self._scheduler.remove_host(a_context(), host=provider.name)
        elif provider.parent != parent:
            self.delete_provider(provider.uuid)
            self._providers[provider.uuid] = provider
        provider.name, provider.parent = name, parent or provider.parent
        self._translations.pop(provider.uuid, None)
        self._report(provider)

    def _do_part(self, method, found, body):
        uuid, name = found["identity"], found["name"]
        if found["part"] == "aggregates":
            self.set_aggregates(uuid, body["aggregates"] if isinstance(body, dict) else body)
        elif found["part"] == "traits":
            self.set_traits(uuid, body["traits"] if method == "PUT" else [])
        elif method == "DELETE":
            kept = dict(self._providers[uuid].inventories)
            kept.pop(name, None)
            self.set_inventories(uuid, kept if name else {})
        elif "inventories" in body:
            self.set_inventories(uuid, body["inventories"])
        else:
            one = {name or body["resource_class"]: body}
            self.set_inventories(uuid, self._providers[uuid].inventories | one)

    def _do_allocations(self, method, consumer, body):
        if method == "DELETE":
            self._scheduler.release_claims(a_context(), instance_uuids=[consumer])
            return
        for uuid, wanted in ({consumer: body} if consumer else body).items():
            given = wanted["allocations"]
            if isinstance(given, list):
                given = {one["resource_provider"]["uuid"]: one for one in given}
            owner = {name: wanted[name] for name in ("project_id", "user_id") if name in wanted}
            amounts = {provider: one["resources"] for provider, one in given.items()}
            self.set_allocations(uuid, amounts, **owner)

    def _change(self, uuid, **values):
        provider = self._providers[uuid]
        for name, value in values.items():
            setattr(provider, name, value)
        self._report(provider)

    def _report(self, provider):
        root = self._root(provider)
        self._translations[root.uuid] = uuid_of_node(root.name, root.name)
        below = [one for one in self._providers.values() if one.parent and self._root(one) is root]
        parts = [
            ResourceProvider.of(
                name=one.uuid,
                uuid=one.uuid,
                parent="" if one.parent == root.uuid else one.parent,
                traits=one.traits,
                inventories=_inventories(one.inventories),
            )
            for one in below
        ]
        report = a_report(
            root.name,
            **dict.fromkeys(("vcpus", "memory_mb", "disk_gb"), 0),
            traits=root.traits,
            inventories=_inventories(root.inventories),
            providers=parts,
            instances=[
                claim["instance_uuid"]
                for claim in self._scheduler.list_claims(a_context(), host=root.name)
            ],
            reported_at=NOW + datetime.timedelta(seconds=next(self._seconds)),
        )
        self._scheduler.update_resource_stats(a_context(), report=report)

    def _root(self, provider):
        return self._root(self._providers[provider.parent]) if provider.parent else provider

    def _know(self, consumer, *, project_id, user_id):
        """Have a server with a consumer's uuid, for its project and its user."""
        with self._world.api_db.begin() as session:
            if instance_mappings.find(session, consumer) is None:
                owner = {"project_id": project_id, "user_id": user_id}
                instance, spec = an_instance(uuid=consumer, **owner), a_spec(**owner)
                wish = a_wish(spec, instance=instance, created_at=instance.created_at)
                build_requests.create(session, [wish], spec=spec)
                build_requests.forget(session, consumer)
                instance_mappings.map_to_cell(session, consumer, CELL1)


def _replaced(text, pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _inventories(numbers):
    return [
        ResourceInventory.of(resource_class=name, **{"max_unit": it["total"], **_known(it)})
        for name, it in numbers.items()
    ]


def _known(numbers):
    names = ResourceInventory.fields.keys() - {"resource_class"}
    return {name: value for name, value in numbers.items() if name in names}
