"""Key pairs: what users log into their servers with."""

import uuid
from typing import Any

from roost import exception
from roost.api import key_material, paging
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas import keypairs as schemas
from roost.api.views import keypairs as views
from roost.db.api import keypairs as rows
from roost.db.engine import Session, retried
from roost.objects import Keypair


class Keypairs:
    """Handlers of ``/os-keypairs``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._limits = parts.options.quota
        self._most = parts.options.max_limit
        self._now = parts.now

    def list_all(self, call: Call) -> Answer:
        owner = _owner(call, call.query.one("user_id"))
        paged = call.version >= schemas.PAGES
        limit = paging.limit(call, most=self._most) if paged else None
        with self._database.read() as session:
            found = _page(session, owner, marker=_marker(call), limit=limit)
        links = paging.links(
            call,
            "keypairs",
            full=limit is not None and len(found) == limit,
            last=found[-1].name if found else "",
        )
        shown = [views.brief(keypair, version=call.version) for keypair in found]
        return Answer({"keypairs": shown, **links})

    def create(self, call: Call) -> Answer:
        asked = call.body["keypair"]
        owner = _owner(call, asked.get("user_id"))
        material = _material(asked, owner)
        keypair = Keypair.of(
            uuid=str(uuid.uuid4()),
            user_id=owner,
            name=asked["name"],
            type=asked.get("type", key_material.SSH),
            public_key=material.public_key,
            fingerprint=material.fingerprint,
            created_at=self._now(),
        )
        stored = self._store(keypair, project_id=call.project_id)
        return Answer(views.created(stored, material.private_key, version=call.version))

    def show(self, call: Call) -> Answer:
        return Answer(views.full(self._get(call), version=call.version))

    def delete(self, call: Call) -> Answer:
        self._delete(self._get(call))
        return Answer()

    def _get(self, call: Call) -> Keypair:
        owner = _owner(call, call.query.one("user_id"))
        with self._database.read() as session:
            return rows.get(session, owner, call.params["keypair_name"])

    @retried
    def _store(self, keypair: Keypair, *, project_id: str) -> Keypair:
        with self._database.begin() as session:
            return rows.create(session, keypair, project_id=project_id, defaults=self._limits)

    @retried
    def _delete(self, keypair: Keypair) -> None:
        with self._database.begin() as session:
            rows.delete(session, keypair)


def _owner(call: Call, named: str | None) -> str:
    """Return whose key pairs are meant: the caller's own, or since 2.10 those of who is named.

    :raises roost.exception.Forbidden: when the caller may not do this for that user
    """
    own = str(call.context.user_id)
    owner = (named or own) if call.version >= schemas.OWNERS else own
    call.may_act_for(owner)
    return owner


def _marker(call: Call) -> str | None:
    return call.query.one("marker") if call.version >= schemas.PAGES else None


def _page(session: Session, owner: str, *, marker: str | None, limit: int | None) -> list[Keypair]:
    try:
        return rows.list_of_user(session, owner, after=marker, limit=limit)
    except exception.NotFound as error:
        raise exception.Invalid(f"Marker {marker} could not be found.") from error


def _material(asked: dict[str, Any], owner: str) -> key_material.Material:
    kind = asked.get("type", key_material.SSH)
    if "public_key" in asked:
        return key_material.imported(kind, asked["public_key"])
    return key_material.generated(kind, owner)
