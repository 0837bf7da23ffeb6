"""The deployment that a command works on: its configuration, databases, cells and buses."""

import functools
import pathlib
import re
from collections.abc import Sequence
from typing import TypeVar

import click
import oslo_messaging as messaging
import sqlalchemy as sa
from oslo_config import cfg

import roost.conf
from roost import concurrency, exception, migrations
from roost.api.dependencies import Dependencies
from roost.api.middleware import NoAuth
from roost.api.policy import Policy
from roost.cells import Cell, Cells
from roost.cmd import _dependencies
from roost.context import admin_context
from roost.db.engine import Database
from roost.external.neutron import DRIVER, Neutron
from roost.external.neutron_ports import LeftoverPorts
from roost.image.driver import ImageStore, load_store
from roost.image.local import LocalImageStore
from roost.rpc.super_conductor import SuperConductor
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import ServiceGroup, load_group
from roost.standalone import tables

CONNECTIONS = 4  # a command does one step at a time
ANSWER_SECONDS = 3600  # schema changes and audits may take long
T = TypeVar("T", Database, Bus, ServiceGroup)
_SECRET = re.compile(r"(?<=[/,])([^:@/,]*):[^/,]*@")


class Deployment:
    """The deployment as one command uses it: reads and connects each part on first use."""

    def __init__(self, files: Sequence[pathlib.Path], folders: Sequence[pathlib.Path]) -> None:
        self._arguments = [f"--config-file={path}" for path in files]
        self._arguments += [f"--config-dir={path}" for path in folders]
        self._opened: list[Database | Bus | ServiceGroup] = []

    @functools.cached_property
    def conf(self) -> cfg.ConfigOpts:
        return roost.conf.load(self._arguments, prog="roost-manage")

    def configured(self, schema: str) -> Database | None:
        """Return the database that the configuration names for a schema, unchecked."""
        url = self.conf[f"{schema}_database"].connection
        return self.database(url) if url else None

    @functools.cached_property
    def api_database(self) -> Database:
        """The API-level database.

        :raises roost.exception.Unavailable: when it cannot be reached or is behind
        """
        found = self.configured(migrations.API)
        if found is None:
            raise exception.Invalid(
                "no API database is configured: set [api_database] connection, in the file that"
                " --config-file names"
            )
        migrations.check(found, migrations.API)
        return found

    @functools.cached_property
    def cells(self) -> Cells:
        return Cells(self.api_database, make_database=self.database, make_bus=self.bus)

    @functools.cached_property
    def scheduler(self) -> SchedulerClient:
        return SchedulerClient(self.bus(self.conf.scheduler.transport_url))

    @functools.cached_property
    def answering_scheduler(self) -> SchedulerClient:
        """The schedulers, after one has answered.

        :raises roost.exception.Unavailable: within seconds, when none does
        """
        self.scheduler.check(admin_context())
        return self.scheduler

    @functools.cached_property
    def service_group(self) -> ServiceGroup:
        return self._closed_later(load_group(self.conf, binary="roost-manage"))

    @functools.cached_property
    def api(self) -> Dependencies:
        """The dependencies of the API's handlers, for what the API does, too."""
        policy = Policy(self.conf, tables.list_rules())
        policy.load()
        return _dependencies.dependencies(
            self.conf,
            api_database=self.api_database,
            cells=self.cells,
            super_conductor=SuperConductor(self.bus(None)),
            scheduler=self.answering_scheduler,
            service_group=self.service_group,
            policy=policy,
            authentication=NoAuth(),
            executor=concurrency.executor(1),
        )

    @functools.cached_property
    def images(self) -> ImageStore:
        return load_store(self.conf)

    @functools.cached_property
    def outside_ports(self) -> LeftoverPorts | None:
        """The ports of Neutron; None, where the ports of instances are rows."""
        if self.conf.network.driver != DRIVER:
            return None
        return LeftoverPorts(Neutron(self.conf).ours)

    @property
    def local_images(self) -> LocalImageStore:
        """Return the image store, if it is a local one.

        :raises roost.exception.Invalid: when another service has the images
        """
        if not isinstance(self.images, LocalImageStore):
            raise exception.Invalid(
                f"[image] store = {self.conf.image.store}: images are managed there, not here,"
                " for example with the command openstack image"
            )
        return self.images

    def named_cells(self, name: str | None) -> list[Cell]:
        """Return the cell of this name or uuid; None: all."""
        cells = self.cells.all()
        if name is None:
            return cells
        found = [cell for cell in cells if name in (cell.name, cell.uuid)]
        if not found:
            raise exception.NotFound(f"there is no cell {name!r}; see roost-manage cell list")
        return found

    def checked(self, cell: Cell) -> Database:
        """Return the database of a cell, after a check that it is reachable and up to date.

        :raises roost.exception.Unavailable: when it is not; the message says what to run
        """
        try:
            migrations.check(cell.database, migrations.CELL)
        except exception.Unavailable as error:
            message = error.message.replace("db sync cell", f"db sync --cell {cell.name}")
            raise exception.Unavailable(message) from error
        return cell.database

    def database(self, url: str) -> Database:
        """Return the database at a URL.

        :raises roost.exception.Invalid: when it is not the URL of a supported database
        """
        try:
            sa.make_url(url).get_dialect().import_dbapi()
        except (sa.exc.ArgumentError, ImportError, ValueError) as error:
            raise exception.Invalid(
                f"{masked(url)!r} is not the URL of a database, like"
                " postgresql+psycopg://user:password@host/name,"
                " mysql+pymysql://user:password@host/name or sqlite:////path"
            ) from error
        return self._closed_later(
            Database(url, connections=CONNECTIONS, answer_timeout=ANSWER_SECONDS)
        )

    def bus(self, url: str | None) -> Bus:
        """Return the bus at a URL (None: that of the configuration).

        :raises roost.exception.Invalid: when it is not the URL of a supported bus
        """
        if url == "":  # oslo.messaging would use that of the configuration
            raise _no_bus(url)
        try:
            return self._closed_later(Bus(self.conf, url))
        except (messaging.InvalidTransportURL, messaging.DriverLoadFailure) as error:
            raise _no_bus(url) from error

    def close(self) -> None:
        for opened in self._opened:
            opened.close()

    def _closed_later(self, opened: T) -> T:
        self._opened.append(opened)
        return opened


def masked(url: str | None) -> str | None:
    """Return a URL of a database or bus without its passwords."""
    return None if url is None else _SECRET.sub(r"\1:***@", url)


def _no_bus(url: str | None) -> exception.Invalid:
    return exception.Invalid(
        f"{masked(url)!r} is not the URL of a bus, like rabbit://user:password@host/vhost"
    )


pass_deployment = click.make_pass_decorator(Deployment)
