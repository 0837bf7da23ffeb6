"""What guests are provided with, apart from their rows: it may be large or secret."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.db import wire
from roost.db.cell import instances, models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects import GuestConfig, InjectedFile, Instance

_provisions = models.instance_provisions


def find(session: Session, instance_uuid: str) -> GuestConfig | None:
    """Return what a guest is provided with; None where nothing was written down."""
    found: GuestConfig | None = wire.load(_value(session, _provisions.c.provisions, instance_uuid))
    return found


def get_instance(session: Session, uuid: str) -> Instance:
    """Return an instance as its host needs it: whole.

    :raises roost.exception.NotFound: when there is none
    """
    instance = instances.get(session, uuid)
    instance.provisions = find(session, uuid)
    instance.obj_reset_changes(["provisions"])
    return instance


def put(session: Session, instance_uuid: str, provisions: GuestConfig) -> None:
    """Provide the guest with this and nothing else from the next time on that it is made."""
    _put(session, instance_uuid, provisions=wire.dump(provisions))


def put_files(session: Session, instance_uuid: str, files: Sequence[InjectedFile]) -> None:
    """Provide the guest with these files from the next time on that it is made."""
    found = find(session, instance_uuid) or GuestConfig.of()
    found.files = list(files)
    found.obj_reset_changes()
    put(session, instance_uuid, found)


def forget_password(session: Session, instance_uuid: str) -> None:
    """Forget the administrator's password: the guest has it by now."""
    found = find(session, instance_uuid)
    if found is not None and found.admin_password is not None:
        found.admin_password = None
        found.obj_reset_changes()
        put(session, instance_uuid, found)


def forget_secrets(session: Session, instance_uuid: str) -> None:
    """Forget password and files of an instance in ERROR: a rebuild is given its own."""
    found = find(session, instance_uuid)
    if found is not None and (found.admin_password is not None or found.files):
        found.forget_secrets()
        put(session, instance_uuid, found)


def read_password(session: Session, instance_uuid: str) -> str:
    """Return the password that the guest has told of itself, encrypted; empty: none."""
    return _value(session, _provisions.c.password, instance_uuid) or ""


def save_password(session: Session, instance_uuid: str, password: str) -> None:
    """Keep the password that a guest tells, encrypted; empty: forget it."""
    _put(session, instance_uuid, password=password or None)


def save_first_password(session: Session, instance_uuid: str, password: str) -> bool:
    """Keep a password unless there is one; tell whether it is kept."""
    if insert_once(session, _provisions, {"instance_uuid": instance_uuid, "password": password}):
        return True
    mine = _provisions.c.instance_uuid == instance_uuid
    untold = mine & _provisions.c.password.is_(None)
    return (
        session.execute(sa.update(_provisions).where(untold).values(password=password)).rowcount
        == 1
    )


def _value(session: Session, column: sa.Column[str], instance_uuid: str) -> str | None:
    return session.execute(
        sa.select(column).where(_provisions.c.instance_uuid == instance_uuid)
    ).scalar_one_or_none()


def _put(session: Session, instance_uuid: str, **values: str | None) -> None:
    if not insert_once(session, _provisions, {"instance_uuid": instance_uuid, **values}):
        mine = _provisions.c.instance_uuid == instance_uuid
        session.execute(sa.update(_provisions).where(mine).values(values))
