"""Copies security groups to the cells whose hosts filter by them, and notifies the hosts.

Super-conductors do it when ``standalone/networking_groups.py`` reports a change, before a server
goes to a cell (``conductor/super/boot.py``), and periodically, for missed changes.
"""

import dataclasses
import logging
import threading
from collections.abc import Mapping

from roost import exception
from roost.cells.cell import Cell
from roost.cells.registry import Cells
from roost.context import RequestContext, admin_context
from roost.db.api import instance_mappings, security_groups
from roost.db.cell import security_groups as cell_security_groups
from roost.db.engine import Database, retried
from roost.security_groups import Group

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class GroupCopies:
    """Copies the groups of projects to cells. Any number of processes do so concurrently.

    :param database: the API database
    """

    database: Database
    cells: Cells
    _guard: threading.Lock = dataclasses.field(default_factory=threading.Lock, init=False)
    # by project: whether there was a change since the running copy began
    _spreading: dict[str, bool] = dataclasses.field(default_factory=dict, init=False)

    def spread(self, context: RequestContext, project_id: str) -> None:
        """Copy a project's groups to the cells of its servers, and notify their hosts.

        One thread at a time does so for a project; it copies again after changes in between.
        :meth:`compare` updates an unavailable cell later; hosts also ask periodically.
        """
        with self._guard:
            if project_id in self._spreading:
                self._spreading[project_id] = True
                return
            self._spreading[project_id] = True
        try:
            while self._is_due(project_id):
                self._spread(context, project_id)
        except BaseException:
            with self._guard:
                self._spreading.pop(project_id, None)
            raise

    def _is_due(self, project_id: str) -> bool:
        with self._guard:
            due, self._spreading[project_id] = self._spreading[project_id], False
            if not due:
                del self._spreading[project_id]
            return due

    def _spread(self, context: RequestContext, project_id: str) -> None:
        for cell in self._with_servers(project_id):
            try:
                self.bring(cell, project_id)
                self._notify_hosts(context, cell, project_id)
            except exception.RoostError as error:
                LOG.warning("%s did not get the groups of %s yet: %s", cell, project_id,
                            error.message)  # fmt: skip

    def bring(self, cell: Cell, project_id: str) -> None:
        """Copy a project's groups to one cell.

        Each writer reads the groups again afterwards: so the last of several writes the final ones.
        """
        written, groups = None, self._groups(project_id)
        while written != groups:
            _bring(cell, project_id, groups)
            written, groups = groups, self._groups(project_id)

    def compare(self) -> None:
        """Copy to each cell the changes of its servers' groups that it missed."""
        groups = self._by_project()
        for cell in self._with_hosts():
            try:
                self._compare(cell, groups)
            except exception.RoostError as error:
                LOG.warning("%s: cannot compare its security groups: %s", cell, error.message)

    def _compare(self, cell: Cell, groups: Mapping[str, list[Group]]) -> None:
        with cell.database.read() as session:
            projects = cell_security_groups.projects(session)
            known = cell_security_groups.copies(session, projects)
        for project_id in projects:
            if known.get(project_id) != groups.get(project_id, []):
                LOG.warning("%s had old security groups of project %s", cell, project_id)
                self.bring(cell, project_id)
                self._notify_hosts(admin_context(), cell, project_id)

    def _by_project(self) -> dict[str, list[Group]]:
        with self.database.read() as session:
            groups = security_groups.list_groups(session, None)
        found: dict[str, list[Group]] = {}
        for group in groups:
            found.setdefault(group.project_id, []).append(group)
        return found

    def _with_servers(self, project_id: str) -> list[Cell]:
        """Return the cells that need a project's groups.

        These are all cells while a server is being placed: its cell may have got the groups before
        this change, and its mapping names the cell only once the cell has the server.
        """
        with self.database.read() as session:
            used = instance_mappings.cells_of_project(session, project_id)
        return [cell for cell in self._with_hosts() if None in used or cell.uuid in used]

    def _with_hosts(self) -> list[Cell]:
        return [cell for cell in self.cells.all() if not cell.is_cell0]

    def _groups(self, project_id: str) -> list[Group]:
        with self.database.read() as session:
            return security_groups.list_groups(session, project_id)

    @staticmethod
    def _notify_hosts(context: RequestContext, cell: Cell, project_id: str) -> None:
        with cell.database.read() as session:
            hosts = cell_security_groups.hosts_of(session, project_id)
        for host in hosts:
            cell.compute.on(host).refresh_security_groups(context, project_id=project_id)


@retried
def _bring(cell: Cell, project_id: str, groups: list[Group]) -> None:
    with cell.database.begin() as session:
        cell_security_groups.bring(session, project_id, groups)
