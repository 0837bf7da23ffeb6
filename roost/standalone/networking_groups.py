"""The security groups of the local driver, in the API database."""

import dataclasses
import datetime
import logging
from collections.abc import Callable, Mapping, Sequence

from roost import exception
from roost.api.request import Call
from roost.db.api import instance_mappings
from roost.db.api import security_groups as rows
from roost.db.engine import Database, Session, retried
from roost.objects import Instance
from roost.rpc.super_conductor import SuperConductor
from roost.security_groups import (
    DEFAULT,
    Group,
    SecurityGroupRule,
    default_group,
    new_group,
    pick,
    pick_all,
)
from roost.standalone.departed_servers import DepartedServers

LOG = logging.getLogger(__name__)


class LocalGroups:
    """Reads and changes security groups.

    :param super_conductor: spreads changes to cells and hosts; None: no host filters
    """

    def __init__(
        self,
        database: Database,
        departed: DepartedServers,
        *,
        now: Callable[[], datetime.datetime],
        super_conductor: SuperConductor | None = None,
    ) -> None:
        self._super_conductor = super_conductor
        self._database = database
        self._departed = departed
        self._now = now

    def list_all(self, call: Call, project_id: str | None) -> list[Group]:
        self._ensure_default(project_id or call.project_id)
        return self._database.query(rows.list_groups, project_id)

    def get(self, call: Call, group_id: str) -> Group:
        found = self._database.query(rows.find, group_id)
        if found is None:
            found = self._default(call, group_id)
        call.may_touch(found.project_id, name=f"Security group {group_id}")
        return found

    def create(self, call: Call, project_id: str, *, name: str, description: str) -> Group:
        self._ensure_default(project_id)
        group = new_group(project_id, name=name, description=description)
        self._database.write(rows.create, group, at=self._now())
        self.tell(call, project_id)
        return group

    def change(self, call: Call, group_id: str, changes: Mapping[str, str]) -> Group:
        group = self.get(call, group_id)
        if group.name == DEFAULT and changes.get("name", DEFAULT) != DEFAULT:
            raise exception.Conflict("The default security group keeps its name.")
        self._forget_departed(group)
        changed = self._database.write(rows.change, group_id, changes)
        self.tell(call, changed.project_id)
        return changed

    def delete(self, call: Call, group_id: str) -> None:
        group = self.get(call, group_id)
        if group.name == DEFAULT and call.visible_project is not None:
            raise exception.Conflict("The default security group cannot be deleted.")
        self._forget_departed(group)
        self._database.write(rows.delete, group_id)
        self.tell(call, group.project_id)

    def get_rule(self, call: Call, rule_id: str) -> SecurityGroupRule:
        found = self._database.query(rows.find_rule, rule_id)
        if found is None:
            raise exception.NotFound(f"Security group rule {rule_id} not found.")
        rule, group = found
        call.may_touch(group.project_id, name=f"Security group rule {rule_id}")
        return rule

    def add_rule(self, call: Call, rule: SecurityGroupRule) -> SecurityGroupRule:
        group = self.get(call, rule.group_id)
        if rule.remote_group_id is not None:
            remote = self.get(call, rule.remote_group_id)
            if remote.project_id != group.project_id:
                raise exception.NotFound(f"Security group {remote.id} not found.")
            rule = dataclasses.replace(rule, remote_group_name=remote.name)
        self._database.write(rows.add_rule, rule, at=self._now())
        self.tell(call, group.project_id)
        return rule

    def delete_rule(self, call: Call, rule_id: str) -> None:
        rule = self.get_rule(call, rule_id)
        self._database.write(rows.delete_rule, rule.id)
        self.tell(call, self.get(call, rule.group_id).project_id)

    def tell(self, call: Call, project_id: str) -> None:
        """Send a project's groups and their members to the hosts that filter."""
        if self._super_conductor is None:
            return
        try:
            self._super_conductor.spread_security_groups(call.context, project_id=project_id)
        except exception.RoostError as error:
            LOG.warning(
                "security groups of %s are to be spread later: %s", project_id, error.message
            )

    def named(self, call: Call, names: Sequence[str]) -> list[Group]:
        if all(name == DEFAULT for name in names):
            return []
        return pick_all(self.list_all(call, call.project_id), names)

    def of_server(self, call: Call, instance: Instance) -> list[Group]:
        self._ensure_default(instance.project_id)
        with self._database.read() as session:
            return rows.list_groups(session, None, ids=_groups_of(session, instance))

    def join(self, call: Call, instance: Instance, name: str) -> None:
        self._ensure_default(instance.project_id)
        self._join(instance, name)

    def leave(self, call: Call, instance: Instance, name: str) -> None:
        try:
            group = pick(self.of_server(call, instance), name)
        except exception.NotFound as error:
            raise exception.NotFound(
                f"Security group {name} not associated with the instance {instance.uuid}"
            ) from error
        self._leave(instance, group)

    def take(self, session: Session, groups: Sequence[Group], uuids: Sequence[str]) -> None:
        """Put new servers into groups.

        :raises roost.exception.Invalid: for a deleted group
        """
        try:
            rows.join(session, [group.id for group in groups], uuids)
        except exception.NotFound as error:
            raise exception.Invalid(error.message) from error

    def _forget_departed(self, group: Group) -> None:
        """Remove deleted servers from a group."""
        uuids = self._database.query(rows.members, group)
        self._departed.forget(uuids)

    def _default(self, call: Call, group_id: str) -> Group:
        """Return the caller's default group, if it has this id."""
        default = default_group(call.project_id)
        if group_id != default.id:
            raise exception.NotFound(f"Security group {group_id} not found.")
        self._ensure_default(default.project_id)
        return self._database.query(rows.find, default.id) or default

    def _ensure_default(self, project_id: str) -> None:
        """Create a project's default group; most have it, and then nothing is written."""
        there = self._database.query(rows.find, default_group(project_id).id)
        if there is None:
            self._database.write(rows.ensure_default, project_id, at=self._now())

    @retried
    def _join(self, instance: Instance, name: str) -> None:
        with self._database.begin() as session:
            instance_mappings.hold(session, instance.uuid)
            group = pick(rows.list_groups(session, instance.project_id), name)
            rows.put(session, _groups_of(session, instance) | {group.id}, instance.uuid)

    @retried
    def _leave(self, instance: Instance, group: Group) -> None:
        with self._database.begin() as session:
            instance_mappings.hold(session, instance.uuid)
            rows.put(session, _groups_of(session, instance) - {group.id}, instance.uuid)


def _groups_of(session: Session, instance: Instance) -> set[str]:
    """Return the ids of a server's groups; without rows, that of the default group."""
    found = rows.groups_of(session, instance.uuid)
    return {default_group(instance.project_id).id} if found is None else found
