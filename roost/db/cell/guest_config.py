"""Guest configuration, in a table of its own: it may be large or secret."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db import prepared, wire
from roost.db.cell import instances, models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects import GuestConfig, InjectedFile, Instance

_provisions = models.instance_provisions
_c = models.instances.c
_WITH_INSTANCE = (
    sa.select(models.instances, _provisions.c.provisions, _provisions.c.admin_password)
    .outerjoin(_provisions, _provisions.c.instance_uuid == _c.uuid)
    .where(_c.uuid == sa.bindparam("uuid"), _c.deleted_at.is_(None))
)


def find(session: Session, instance_uuid: str) -> GuestConfig | None:
    """Return the configuration of a guest; None: there is none."""
    columns = (_provisions.c.provisions, _provisions.c.admin_password)
    row = prepared.select(session, *columns, where={"instance_uuid": instance_uuid}).one_or_none()
    return None if row is None else _loaded(row)


def _loaded(row: sa.Row[Any]) -> GuestConfig | None:
    found: GuestConfig | None = wire.load(row.provisions)
    if found is not None and row.admin_password is not None:
        found.admin_password = row.admin_password
        found.obj_reset_changes()
    return found


def get_instance(session: Session, uuid: str) -> Instance:
    """Return an instance with its guest configuration, as its host needs it.

    :raises roost.exception.NotFound: when there is none
    """
    row = session.execute(_WITH_INSTANCE, {"uuid": uuid}).one_or_none()
    if row is None:
        raise exception.NotFound(f"Instance {uuid} could not be found.")
    instance = instances.row_to_instance(row)
    instance.provisions = _loaded(row)
    instance.obj_reset_changes(["provisions"])
    return instance


def put(session: Session, instance_uuid: str, provisions: GuestConfig) -> None:
    """Replace the guest's configuration, from the next time it is created."""
    _put(session, instance_uuid, **instances.provisions_row(provisions))


def put_files(session: Session, instance_uuid: str, files: Sequence[InjectedFile]) -> None:
    """Replace the guest's injected files, from the next time it is created."""
    found = find(session, instance_uuid) or GuestConfig.of()
    found.files = list(files)
    found.obj_reset_changes()
    put(session, instance_uuid, found)


def forget_password(session: Session, instance_uuid: str) -> None:
    """Delete the administrator's password: the guest has it by now."""
    _change(session, instance_uuid, admin_password=None)


def forget_secrets(session: Session, instance_uuid: str) -> None:
    """Delete password and files of an instance in ERROR: a rebuild brings its own."""
    found = find(session, instance_uuid)
    if found is not None and (found.admin_password is not None or found.files):
        found.forget_secrets()
        _change(session, instance_uuid, **instances.provisions_row(found))


def read_password(session: Session, instance_uuid: str) -> str:
    """Return the encrypted password that the guest has posted; empty: none."""
    return _value(session, _provisions.c.password, instance_uuid) or ""


def save_password(session: Session, instance_uuid: str, password: str) -> None:
    """Store the encrypted password that a guest has posted; empty: delete it."""
    _put(session, instance_uuid, password=password or None)


def save_first_password(session: Session, instance_uuid: str, password: str) -> bool:
    """Store a password unless there is one; return whether it was stored."""
    if insert_once(session, _provisions, {"instance_uuid": instance_uuid, "password": password}):
        return True
    mine = _provisions.c.instance_uuid == instance_uuid
    unset = mine & _provisions.c.password.is_(None)
    return (
        session.execute(sa.update(_provisions).where(unset).values(password=password)).rowcount == 1
    )


def _value(session: Session, column: sa.Column[str], instance_uuid: str) -> str | None:
    found: str | None = prepared.select(
        session, column, where={"instance_uuid": instance_uuid}
    ).scalar_one_or_none()
    return found


def _put(session: Session, instance_uuid: str, **values: str | None) -> None:
    if not insert_once(session, _provisions, {"instance_uuid": instance_uuid, **values}):
        _change(session, instance_uuid, **values)


def _change(session: Session, instance_uuid: str, **values: str | None) -> None:
    prepared.update(session, _provisions, {"instance_uuid": instance_uuid}, values)
