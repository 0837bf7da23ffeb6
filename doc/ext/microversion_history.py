"""The history of microversions: the changes of each, and whether they are served here.

Each served change has a story among the tests, at the version before and at its own. A change of
something that is not served yet names it (``needs``): once it is served, the tests require a story
for it, too. Until then the answer is that of any path, action or field that does not exist, in all
versions.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

from roost.api.routes import ROUTES
from roost.api.servers.actions import BODY
from roost.api.servers.schemas import CREATE, LIST_QUERY


@dataclasses.dataclass(frozen=True)
class MicroversionChange:
    """One microversion.

    ``needs`` is what it changes, if that may not be served: ``action`` and its name in a body,
    ``path`` and part of a route's path, ``field`` and a field of a new server, ``filter`` and a
    filter of the list of servers, or ``feature`` and something that Roost does not have.
    """

    minor: int
    what: str
    needs: str = ""

    @property
    def served(self) -> bool:
        """Return whether Roost serves what it changes."""
        kind, _, name = self.needs.partition(" ")
        return KINDS[kind](name)


def _has_action(name: str) -> bool:
    return any(name in document["properties"] for document in BODY.documents.values())


def _has_field(name: str) -> bool:
    documents = CREATE.documents.values()
    return any(name in one["properties"]["server"]["properties"] for one in documents)


def _has_filter(name: str) -> bool:
    return any(name in one["properties"] for one in LIST_QUERY.documents.values())


KINDS: Final[Mapping[str, Callable[[str], bool]]] = {
    "": lambda _: True,
    "action": _has_action,
    "path": lambda part: any(part in route.path for route in ROUTES),
    "field": _has_field,
    "filter": _has_filter,
    "feature": lambda _: False,
}
_VOLUMES: Final = "feature volumes"
_CONSOLES: Final = "path /remote-consoles"
_EVENTS: Final = "path /os-server-external-events"
_INTERFACES: Final = "path /os-interface"

HISTORY: Final = (
    MicroversionChange(1, "The first version: v2 with its bodies checked."),
    MicroversionChange(
        2, "Key pairs have a type, ssh or x509; 201 for a create, 204 for a delete."
    ),
    MicroversionChange(
        3, "Administrators see more of servers: launch index, reservation, user data, ..."
    ),
    MicroversionChange(4, "A fixed IP shows whether it is reserved.", "path /os-fixed-ips"),
    MicroversionChange(5, "All users may filter servers by IPv6 addresses."),
    MicroversionChange(6, "One request for all kinds of remote consoles.", _CONSOLES),
    MicroversionChange(7, "Adding access to a public flavor is refused: 409."),
    MicroversionChange(8, "Remote consoles of kind mks.", _CONSOLES),
    MicroversionChange(9, "Servers show whether they are locked."),
    MicroversionChange(10, "Administrators manage the key pairs of others: user_id."),
    MicroversionChange(11, "Services may be forced down, and show it."),
    MicroversionChange(12, "Virtual interfaces name their network.", "path /os-virtual-interfaces"),
    MicroversionChange(13, "Server groups name their project and user."),
    MicroversionChange(
        14, "No onSharedStorage in evacuate, no password in its answer.", "action evacuate"
    ),
    MicroversionChange(15, "Server groups have soft policies."),
    MicroversionChange(16, "Administrators see the status of a server's host."),
    MicroversionChange(17, "A crash dump on demand.", "action trigger_crash_dump"),
    MicroversionChange(18, "No project is needed in paths. It was never needed here."),
    MicroversionChange(19, "Servers have a description: on create, in changes, in answers."),
    MicroversionChange(20, "Volumes of shelved servers.", _VOLUMES),
    MicroversionChange(21, "Actions of deleted servers are shown."),
    MicroversionChange(
        22, "A live migration can be forced.", "path /migrations/{migration_id}/action"
    ),
    MicroversionChange(23, "The migrations of a server are listed below it."),
    MicroversionChange(
        24, "A live migration can be aborted.", "path /migrations/{migration_id}/action"
    ),
    MicroversionChange(25, "block_migration may be auto.", "action os-migrateLive"),
    MicroversionChange(26, "Servers have tags, and lists are filtered by them."),
    MicroversionChange(27, "The header OpenStack-API-Version. It was always understood here."),
    MicroversionChange(28, "cpu_info of a hypervisor is an object; it was text."),
    MicroversionChange(
        29, "The scheduler checks the host of evacuate, unless forced.", "action evacuate"
    ),
    MicroversionChange(30, "The same for live migrations.", "action os-migrateLive"),
    MicroversionChange(31, "Tokens of all consoles can be shown."),
    MicroversionChange(32, "The networks of a new server may have tags; until 2.36, by accident."),
    MicroversionChange(33, "The list of hypervisors has pages."),
    MicroversionChange(
        34, "Live migrations are checked after the answer.", "action os-migrateLive"
    ),
    MicroversionChange(35, "The list of key pairs has pages, and is sorted by name."),
    MicroversionChange(
        36, "Removes the proxies of Image and Network, and the quotas and limits of networks."
    ),
    MicroversionChange(37, "A new server must name its networks: a list, auto or none. No tags."),
    MicroversionChange(38, "A list filtered by an unknown status is refused: 400."),
    MicroversionChange(39, "Removes the metadata of images, and its limit."),
    MicroversionChange(40, "The list of usage has pages."),
    MicroversionChange(41, "Aggregates have uuids."),
    MicroversionChange(42, "Networks of a new server may have tags again."),
    MicroversionChange(43, "Removes os-hosts.", "path /os-hosts"),
    MicroversionChange(44, "Removes the actions on fixed and floating IPs.", "action addFixedIp"),
    MicroversionChange(45, "createImage has the image's id in its body; it was in a header."),
    MicroversionChange(46, "X-OpenStack-Request-ID in answers. It was always there here."),
    MicroversionChange(47, "Servers show the details of their flavor instead of its id."),
    MicroversionChange(48, "Diagnostics are the same for all hypervisors.", "path /diagnostics"),
    MicroversionChange(49, "Interfaces and volumes may be attached with a tag.", _INTERFACES),
    MicroversionChange(50, "Quota classes have server groups, and no networks."),
    MicroversionChange(51, "Users see the events of an action."),
    MicroversionChange(52, "A server may be created with tags."),
    MicroversionChange(
        53, "Services and hypervisors have uuids; queries and one PUT replace paths."
    ),
    MicroversionChange(54, "rebuild may change the key pair."),
    MicroversionChange(55, "Flavors have a description, which may be changed."),
    MicroversionChange(56, "migrate may name the host.", "action migrate"),
    MicroversionChange(57, "No files in new servers, quotas and limits."),
    MicroversionChange(58, "Actions have pages, changes-since and updated_at."),
    MicroversionChange(59, "Migrations have pages and changes-since; unknown names are refused."),
    MicroversionChange(60, "Volumes of more than one server.", _VOLUMES),
    MicroversionChange(61, "Flavors show their extra specs."),
    MicroversionChange(62, "Events of actions show the host, to users as a hash."),
    MicroversionChange(63, "Servers name the trusted certificates of their image."),
    MicroversionChange(64, "A server group has one policy, with rules; no policies and metadata."),
    MicroversionChange(
        65, "Queued live migrations can be aborted, too.", "path /migrations/{migration_id}/action"
    ),
    MicroversionChange(66, "Servers, actions and migrations: changes-before."),
    MicroversionChange(67, "The devices of a new server may name a type of volume."),
    MicroversionChange(68, "Removes force from migrations and evacuations.", "action evacuate"),
    MicroversionChange(69, "Servers of an unavailable cell are shown with partial data."),
    MicroversionChange(70, "Interfaces and volumes show their tags.", _INTERFACES),
    MicroversionChange(71, "Servers show their server group in GET, PUT and rebuild."),
    MicroversionChange(72, "Ports with bandwidth."),
    MicroversionChange(73, "Locks have a reason, and are filtered and sorted by."),
    MicroversionChange(74, "The host of a new server may be named without its zone."),
    MicroversionChange(75, "Unknown names are refused; PUT answers like GET; swap is 0."),
    MicroversionChange(76, "Events for power changes of bare metal.", _EVENTS),
    MicroversionChange(77, "unshelve may name the zone.", "action unshelve"),
    MicroversionChange(78, "The NUMA topology of a server.", "path /topology"),
    MicroversionChange(79, "Volumes may be deleted with their server.", _VOLUMES),
    MicroversionChange(80, "Migrations are filtered by user and project."),
    MicroversionChange(
        81, "Images can be cached on the hosts of an aggregate.", "path /{aggregate_id}/images"
    ),
    MicroversionChange(82, "Events for bound accelerators.", _EVENTS),
    MicroversionChange(83, "Users may filter servers by zone, key, states, times and user."),
    MicroversionChange(84, "Events of actions show why they failed."),
    MicroversionChange(85, "delete_on_termination of a volume can be changed.", _VOLUMES),
    MicroversionChange(86, "Extra specs of known namespaces are validated."),
    MicroversionChange(87, "rescue of servers that boot from volumes.", _VOLUMES),
    MicroversionChange(88, "Hypervisors show their uptime, and no amounts; no statistics."),
    MicroversionChange(89, "Attachments of volumes have ids.", _VOLUMES),
    MicroversionChange(90, "The hostname can be set on create and in changes; all users see it."),
    MicroversionChange(91, "unshelve may name the host.", "action unshelve"),
    MicroversionChange(92, "No key pairs are generated; their names may have @ and dots."),
    MicroversionChange(93, "rebuild of servers that boot from volumes, and its event."),
    MicroversionChange(94, "The hostname may be a full domain name."),
    MicroversionChange(95, "Evacuated servers are stopped.", "action evacuate"),
    MicroversionChange(96, "Servers show the zone that they are pinned to."),
    MicroversionChange(97, "File shares are attached to servers.", "path /shares"),
    MicroversionChange(98, "Servers show the properties of their image."),
    MicroversionChange(99, "Consoles of kind spice-direct.", _CONSOLES),
    MicroversionChange(100, "Servers show the scheduler hints they were created with."),
    MicroversionChange(101, "A volume is attached after the answer: 202.", _VOLUMES),
    MicroversionChange(
        102, "Flavors: by name, without rxtx_factor and disabled. Unknown names are refused."
    ),
    MicroversionChange(103, "Removes os-volumes_boot.", "path /os-volumes_boot"),
    MicroversionChange(104, "An update may pin a server to its zone, or unpin it."),
)
