"""The providers of this host from which the ports of an instance have what they need."""

from collections.abc import Callable

from roost import exception
from roost.compute.virt.driver import HostResources
from roost.hardware import resource_groups
from roost.hardware.providers import Allocator, FreeProvider
from roost.objects import Instance, ResourceProvider
from roost.objects.host import uuid_of_node, uuid_of_provider


def assign_providers(instance: Instance, resources: Callable[[], HostResources]) -> None:
    """Set the provider of what each port of an instance needs, by the instance's allocations.

    These say how much is from which provider; any division of them among the groups is right.

    :param resources: returns what this host has
    :raises roost.exception.BuildFailed: when the host's providers are others by now
    """
    needs = [one for request in instance.networks for one in request.resources]
    if not needs:
        return
    asked = resource_groups.requested_by(
        instance.flavor.extra_specs,
        instance.image.properties if instance.image else {},
        ports=needs,
    )
    # traits that the host needs as a whole are no matter of ports
    own = asked.own._replace(required=frozenset(), forbidden=frozenset())
    providers = [ResourceProvider.of(name=""), *resources().providers]
    parts = {one.name: one for one in providers}
    held = [
        FreeProvider.held(part, instance.allocations.get(name, {})) for name, part in parts.items()
    ]
    found = Allocator(asked._replace(own=own)).providers_of_groups(held)
    if found is None:
        raise exception.BuildFailed("What the server's ports need is no longer where it was.")
    node_uuid = uuid_of_node(str(instance.host), str(instance.node or instance.host))
    for one in needs:
        name = found[one.group_id]
        one.provider_uuid = parts[name].uuid or uuid_of_provider(node_uuid, name)
