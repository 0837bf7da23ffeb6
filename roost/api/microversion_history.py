"""The history of microversions: what each has changed, and whether that is served here.

Each difference that is served has a story among the tests, at the version before and at its own.
What needs something that is not there yet says so (``needs``): as soon as it is served, the tests
ask for its story, too. Until then the answer is that of any path, action or field that does not
exist, in all versions.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

from roost.api.routes import ROUTES
from roost.api.servers.schemas import ACTION, CREATE, LIST_QUERY


@dataclasses.dataclass(frozen=True)
class MicroversionChange:
    """One microversion.

    ``needs`` is what it is about, if that is not all served: ``action`` and the action's name in a
    body, ``path`` and part of a route's path, ``field`` and what a new server may have, ``filter``
    and a name that a list of servers heeds, or ``feature`` and what nothing here has.
    """

    minor: int
    what: str
    needs: str = ""

    @property
    def served(self) -> bool:
        """Tell whether there is something that it makes a difference to."""
        kind, _, name = self.needs.partition(" ")
        return KINDS[kind](name)


def _has_action(name: str) -> bool:
    return any(name in document["properties"] for document in ACTION.documents.values())


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
        2, "Key pairs have a type, ssh or x509; 201 for a new one, 204 for its end."
    ),
    MicroversionChange(
        3, "Servers tell administrators more: launch index, reservation, user data, ..."
    ),
    MicroversionChange(4, "A fixed IP says whether it is reserved.", "path /os-fixed-ips"),
    MicroversionChange(5, "Everybody may filter servers by IPv6 addresses."),
    MicroversionChange(6, "One request for all kinds of remote consoles.", _CONSOLES),
    MicroversionChange(7, "No access is given to a flavor that is public: 409."),
    MicroversionChange(8, "Remote consoles of kind mks.", _CONSOLES),
    MicroversionChange(9, "Servers say whether they are locked."),
    MicroversionChange(10, "Administrators care for the key pairs of others: user_id."),
    MicroversionChange(11, "Services may be forced down, and say so."),
    MicroversionChange(12, "Virtual interfaces name their network.", "path /os-virtual-interfaces"),
    MicroversionChange(13, "Server groups name their project and user."),
    MicroversionChange(
        14, "No onSharedStorage in evacuate, no password in its answer.", "action evacuate"
    ),
    MicroversionChange(15, "Server groups may be soft."),
    MicroversionChange(16, "Servers tell administrators whether their host is up."),
    MicroversionChange(17, "A crash dump on demand.", "action trigger_crash_dump"),
    MicroversionChange(18, "No project is needed in paths. It was never needed here."),
    MicroversionChange(19, "Servers have a description: on create, in changes, in answers."),
    MicroversionChange(20, "Volumes of servers that are shelved.", _VOLUMES),
    MicroversionChange(21, "Actions of deleted servers can be seen."),
    MicroversionChange(
        22, "A live migration is made to end.", "path /migrations/{migration_id}/action"
    ),
    MicroversionChange(23, "Servers have migrations of their own."),
    MicroversionChange(24, "A live migration is given up.", "action os-migrateLive"),
    MicroversionChange(25, "block_migration may be auto.", "action os-migrateLive"),
    MicroversionChange(26, "Servers have tags, and lists are filtered by them."),
    MicroversionChange(27, "The header OpenStack-API-Version. It was always understood here."),
    MicroversionChange(28, "cpu_info of a hypervisor is an object; it was text."),
    MicroversionChange(
        29, "evacuate asks the scheduler about its host, but by force.", "action evacuate"
    ),
    MicroversionChange(30, "Live migrations ask the scheduler, too.", "action os-migrateLive"),
    MicroversionChange(31, "Tokens of all consoles can be shown."),
    MicroversionChange(32, "The networks of a new server may have tags; until 2.36, by accident."),
    MicroversionChange(33, "Hypervisors have pages."),
    MicroversionChange(
        34, "Live migrations are checked after the answer.", "action os-migrateLive"
    ),
    MicroversionChange(35, "Key pairs have pages, and are in order of names."),
    MicroversionChange(
        36, "No proxies of Image and Network any more; no quotas and limits of networks."
    ),
    MicroversionChange(37, "A new server must say which networks: a list, auto or none. No tags."),
    MicroversionChange(38, "A list of a status that there is none of is refused: 400."),
    MicroversionChange(39, "No metadata of images any more, and no limit for it."),
    MicroversionChange(40, "Usage has pages."),
    MicroversionChange(41, "Aggregates have uuids."),
    MicroversionChange(42, "Networks of a new server may have tags again."),
    MicroversionChange(43, "No os-hosts any more.", "path /os-hosts"),
    MicroversionChange(44, "No actions on fixed and floating IPs any more.", "action addFixedIp"),
    MicroversionChange(45, "createImage answers the image's id; it was in a header."),
    MicroversionChange(46, "X-OpenStack-Request-ID in answers. It was always there here."),
    MicroversionChange(47, "Servers tell what their flavor was, not which it was."),
    MicroversionChange(48, "Diagnostics are alike for all hypervisors.", "path /diagnostics"),
    MicroversionChange(49, "Interfaces and volumes may be attached with a tag.", _INTERFACES),
    MicroversionChange(50, "Quota classes have server groups and no networks."),
    MicroversionChange(51, "Users see the events of an action."),
    MicroversionChange(52, "A server may be created with tags."),
    MicroversionChange(
        53, "Services and hypervisors have uuids; queries and one PUT replace paths."
    ),
    MicroversionChange(54, "rebuild may change the key pair."),
    MicroversionChange(55, "Flavors have a description, which may be changed."),
    MicroversionChange(56, "migrate may name the host.", "action migrate"),
    MicroversionChange(57, "No files in new servers, quotas and limits."),
    MicroversionChange(58, "Actions have pages, changes-since, and when they changed last."),
    MicroversionChange(59, "Migrations have pages and changes-since; unknown names are refused."),
    MicroversionChange(60, "Volumes of more than one server.", _VOLUMES),
    MicroversionChange(61, "Flavors tell their extra specs."),
    MicroversionChange(62, "Events of actions tell the host, to users by a hash."),
    MicroversionChange(63, "Servers name the certificates that their image is to be checked by."),
    MicroversionChange(64, "A server group has one policy, with rules; no policies and metadata."),
    MicroversionChange(65, "Live migrations that wait are given up, too.", "action os-migrateLive"),
    MicroversionChange(66, "Servers, actions and migrations: changes-before."),
    MicroversionChange(67, "The devices of a new server may name a type of volume."),
    MicroversionChange(68, "Nothing is moved by force any more.", "action os-migrateLive"),
    MicroversionChange(69, "What a cell that is away has is told as far as it is known."),
    MicroversionChange(70, "Interfaces and volumes show their tags.", _INTERFACES),
    MicroversionChange(71, "Servers name their group, where one is shown or changed."),
    MicroversionChange(72, "Ports that ask for bandwidth.", "feature ports with resource requests"),
    MicroversionChange(73, "Servers are locked for a reason, and filtered and sorted by locks."),
    MicroversionChange(74, "The host of a new server may be named without its zone."),
    MicroversionChange(75, "Unknown names are refused; a change answers like a show; swap is 0."),
    MicroversionChange(76, "Bare metal says that it was turned on or off.", _EVENTS),
    MicroversionChange(77, "unshelve may name the zone.", "action unshelve"),
    MicroversionChange(78, "The NUMA topology of a server.", "path /topology"),
    MicroversionChange(79, "Whether a volume goes with its server.", _VOLUMES),
    MicroversionChange(80, "Migrations are filtered by user and project."),
    MicroversionChange(
        81, "Images are fetched before they are needed.", "path /{aggregate_id}/images"
    ),
    MicroversionChange(82, "Accelerators say that they are bound.", _EVENTS),
    MicroversionChange(83, "Users may filter servers by zone, key, states, times and user."),
    MicroversionChange(84, "Events of actions tell why they failed."),
    MicroversionChange(85, "Whether a volume goes with its server can be changed.", _VOLUMES),
    MicroversionChange(86, "Extra specs of known scopes must be known, and possible."),
    MicroversionChange(87, "rescue of servers that boot from volumes.", _VOLUMES),
    MicroversionChange(88, "Hypervisors tell no amounts, but their uptime; no statistics."),
    MicroversionChange(89, "Attachments of volumes have ids.", _VOLUMES),
    MicroversionChange(90, "The hostname is chosen on create and in changes; everybody sees it."),
    MicroversionChange(91, "unshelve may name the host.", "action unshelve"),
    MicroversionChange(92, "No key pairs are made here; their names may have @ and dots."),
    MicroversionChange(93, "Volumes that servers boot from are imaged anew, and say so."),
    MicroversionChange(94, "The hostname may be a full domain name."),
    MicroversionChange(95, "What was evacuated is stopped.", "action evacuate"),
    MicroversionChange(96, "Servers tell the zone that they are pinned to."),
    MicroversionChange(97, "Shares of files are attached to servers.", "path /shares"),
    MicroversionChange(98, "Servers tell the properties of their image."),
    MicroversionChange(99, "Consoles of kind spice-direct.", _CONSOLES),
    MicroversionChange(100, "Servers tell the scheduler hints they were created with."),
    MicroversionChange(101, "A volume is attached after the answer: 202.", _VOLUMES),
    MicroversionChange(
        102, "Flavors: by name, without rxtx_factor and disabled. No unknown names."
    ),
    MicroversionChange(103, "No os-volumes_boot any more.", "path /os-volumes_boot"),
    MicroversionChange(104, "A server is pinned to its zone, or to none, by a change."),
)
