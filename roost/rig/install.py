"""Lay what a rig stands on: schemas, cells, flavors, an image. What an operator does by hand.

Every step may be repeated.
"""

import contextlib
import io
import uuid
from collections.abc import Iterator, Mapping

import roost.conf
from roost import exception, migrations
from roost.context import admin_context
from roost.db.api import cells, flavors
from roost.db.cell import identity
from roost.db.engine import Database
from roost.image.local import LocalImageStore
from roost.objects import CellMapping, Flavor
from roost.objects.mapping import CELL0_UUID
from roost.rig.hypervisors import linux_guest
from roost.rig.openstack.plan import GLANCE
from roost.rig.plan import API_LEVEL, CELL0, Plan
from roost.servicegroup.driver import load_group

# name: virtual CPUs, MiB of memory, GiB of disk
FLAVORS = {
    "m1.tiny": (1, 512, 1),
    "m1.small": (1, 2048, 20),
    "m1.medium": (2, 4096, 40),
    "m1.large": (4, 8192, 80),
    "m1.xlarge": (8, 16384, 160),
}
IMAGE = "tiny"
LINUX = "linux"  # the flavor, and the image, of real guests
_REAL = {LINUX: (1, linux_guest.MEMORY_MB, 1)}
_IMAGE_BYTES = 64 * 1024


def install(plan: Plan) -> None:
    """Make databases that exist and are empty into those of this rig, as their owner."""
    for whose, schema in plan.databases.items():
        with _opened(plan, whose) as database:
            migrations.sync(database, schema)
    with _opened(plan, API_LEVEL) as api:
        _map_cell(plan, api, cell=CELL0, cell_uuid=CELL0_UUID)
        for cell in plan.cell_names:
            _map_cell(plan, api, cell=cell, cell_uuid=str(uuid.uuid4()))
        _add_flavors(api, FLAVORS | (_REAL if plan.real else {}))
    if not (plan.real or plan.openstack.has(GLANCE)):
        _add_image(plan)


def usual(plan: Plan) -> tuple[str, str]:
    """Return the names of the flavor and the image that who names none gets."""
    return (LINUX, LINUX) if plan.real else ("m1.tiny", IMAGE)


def map_hosts(plan: Plan) -> None:
    """Map every host to its cell: what ``roost-manage cell discover-hosts`` does."""
    with _opened(plan, API_LEVEL) as api, api.begin() as session:
        for cell in plan.cell_names:
            mapping = cells.get_by_name(session, cell)
            for host in plan.hosts_of(cell):
                cells.map_host(session, host, mapping.uuid)


def disband(plan: Plan) -> None:
    """Leave nothing of this rig's cells in a coordination service, once their daemons ended."""
    conf = roost.conf.load([f"--config-file={plan.config_file('manage')}"], prog="roost-rig")
    group = load_group(conf, binary="roost-rig")
    with _opened(plan, API_LEVEL) as api, api.read() as session:
        found = cells.list_cells(session)
    for cell in found:
        group.disband(cell.uuid)
    group.close()


def _map_cell(plan: Plan, api: Database, *, cell: str, cell_uuid: str) -> None:
    """What ``roost-manage cell create`` and ``map-cell0`` do."""
    mapping = CellMapping(
        uuid=cell_uuid,
        name=cell,
        transport_url=None if cell == CELL0 else plan.bus_url(cell, as_=API_LEVEL),
        database_url=plan.database_url(cell, as_=API_LEVEL),
        disabled=False,
    )
    with api.begin() as session:
        known = {found.name: found.uuid for found in cells.list_cells(session)}
        if cell not in known:
            cells.create(session, mapping)
    with _opened(plan, cell) as database, database.begin() as session:
        identity.set_identity(session, cell_uuid=known.get(cell, cell_uuid), cell_name=cell)


def _add_flavors(api: Database, sizes: Mapping[str, tuple[int, int, int]]) -> None:
    for number, (name, (vcpus, memory_mb, root_gb)) in enumerate(sizes.items(), 1):
        flavor = Flavor(
            flavorid=str(number),
            name=name,
            vcpus=vcpus,
            memory_mb=memory_mb,
            root_gb=root_gb,
            ephemeral_gb=0,
            swap=0,
            rxtx_factor=1.0,
            is_public=True,
            disabled=False,
            description=None,
            extra_specs={},
        )
        with contextlib.suppress(exception.Conflict), api.begin() as session:
            flavors.create(session, flavor)


def _add_image(plan: Plan) -> None:
    store, context = LocalImageStore(plan.images), admin_context()
    if not any(image.name == IMAGE for image in store.list_images(context)):
        store.add(context, name=IMAGE, data=io.BytesIO(bytes(_IMAGE_BYTES)))


@contextlib.contextmanager
def _opened(plan: Plan, whose: str) -> Iterator[Database]:
    database = Database(plan.database_url(whose), connections=2)
    try:
        yield database
    finally:
        database.close()
