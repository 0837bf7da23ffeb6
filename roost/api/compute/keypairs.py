"""Key pairs: the keys by which users log into their servers.

The private key of a pair generated here is returned once, in the answer, and not stored.
"""

import binascii
import dataclasses
import datetime
import hashlib
import uuid
from typing import Any, Final

from cryptography import exceptions as crypto_exceptions
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.pagination import micros
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import PAGE, STRICT_QUERIES, TEXT, Schema, of, query, wrapped
from roost.db.api import keypairs as rows
from roost.db.engine import Session
from roost.objects import Keypair

OWNERS: Final = 10  # since 2.10 administrators name the user
PAGES: Final = 35  # since 2.35 lists are paged
NO_MAKING: Final = 92  # since 2.92 public keys are required, and names have more characters


def _name(others: str) -> dict[str, Any]:
    """Return the schema of a name of letters, digits and ``others``; blanks only inside."""
    visible = f"[a-zA-Z0-9{others}_-]"
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": rf"^{visible}([a-zA-Z0-9{others}_ -]*{visible})?$",
        "not": {"pattern": r"\n"},  # Python's $ matches before it, too
    }


_PLAIN_NAME: Final = _name("")
_PUBLIC_KEY: Final = {"type": "string", "maxLength": 65535}
_TYPE: Final = {"type": "string", "enum": ["ssh", "x509"]}
_FIRST: dict[str, Any] = {"name": _PLAIN_NAME, "public_key": _PUBLIC_KEY}
_TYPED = {**_FIRST, "type": _TYPE}
_OWNED = {**_TYPED, "user_id": TEXT}


def _create(properties: dict[str, Any], *required: str) -> Any:
    return wrapped("keypair", of(properties, required=["name", *required]))


CREATE: Final = Schema(
    {
        1: _create(_FIRST),
        2: _create(_TYPED),
        OWNERS: _create(_OWNED),
        NO_MAKING: _create({**_OWNED, "name": _name("@.")}, "public_key"),
    }
)
_USER: dict[str, Any] = {"user_id": TEXT}
ONE_QUERY: Final = Schema(
    {1: query({}), OWNERS: query(_USER), STRICT_QUERIES: query(_USER, strict=True)}
)
LIST_QUERY: Final = Schema(
    {
        1: query({}),
        OWNERS: query(_USER),
        PAGES: query({**PAGE, **_USER}),
        STRICT_QUERIES: query({**PAGE, **_USER}, strict=True),
    }
)


SSH: Final = "ssh"
X509: Final = "x509"

_BITS: Final = 2048
_EXPONENT: Final = 65537
_COMMENT: Final = "Generated-by-Roost"
_LIFETIME: Final = datetime.timedelta(days=3650)
_MAX_COMMON_NAME: Final = 64  # bytes
_PRINCIPAL: Final = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")  # the login name on Windows
_UTF8_STRING: Final = 0x0C
_SHORT: Final = 0x80  # lengths below it are written in one byte
_UNREADABLE: Final = (ValueError, TypeError, crypto_exceptions.UnsupportedAlgorithm)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Material:
    """A public key and its fingerprint; the private key, in PEM, if it was generated here."""

    public_key: str
    fingerprint: str
    private_key: str | None = dataclasses.field(default=None, repr=False)


def imported(kind: str, public_key: str) -> Material:
    """Read a public key, as it is in authorized_keys, or a certificate in PEM.

    :raises roost.exception.Invalid: when it is neither
    """
    fingerprint = _fingerprint_x509 if kind == X509 else _fingerprint_ssh
    return Material(public_key=public_key, fingerprint=fingerprint(public_key))


def generated(kind: str, user_id: str) -> Material:
    """Generate an RSA pair; for x509 with a certificate for the Windows login of ``user_id``."""
    private = rsa.generate_private_key(_EXPONENT, _BITS)
    if kind == X509:
        return _with_certificate(private, user_id)
    public = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    public_key = f"{public.decode()} {_COMMENT}"
    return Material(
        public_key=public_key,
        fingerprint=_fingerprint_ssh(public_key),
        private_key=_pem(private, serialization.PrivateFormat.TraditionalOpenSSL),
    )


def _fingerprint_ssh(public_key: str) -> str:
    """Return the fingerprint that ``ssh-keygen -l -E md5`` prints."""
    try:
        serialization.load_ssh_public_key(public_key.encode())
        data = binascii.a2b_base64(public_key.split()[1])
    except _UNREADABLE as error:
        raise _invalid("failed to generate fingerprint") from error
    return hashlib.md5(data, usedforsecurity=False).digest().hex(":")


def _fingerprint_x509(certificate: str) -> str:
    """Return the fingerprint that ``openssl x509 -fingerprint -sha1`` prints, in lower case."""
    try:
        read = x509.load_pem_x509_certificate(certificate.encode())
    except _UNREADABLE as error:
        raise _invalid(
            f"failed to generate X509 fingerprint. Error message: {str(error)[:200]}"
        ) from error
    return read.fingerprint(hashes.SHA1()).hex(":")  # noqa: S303 - a name, and no proof of anything


def _with_certificate(private: rsa.RSAPrivateKey, user_id: str) -> Material:
    certificate = _certificate(private, user_id)
    public_key = certificate.public_bytes(serialization.Encoding.PEM).decode()
    return Material(
        public_key=public_key,
        fingerprint=_fingerprint_x509(public_key),
        private_key=_pem(private, serialization.PrivateFormat.PKCS8),
    )


def _certificate(private: rsa.RSAPrivateKey, user_id: str) -> x509.Certificate:
    common_name = user_id.encode()[:_MAX_COMMON_NAME].decode(errors="ignore") or _COMMENT
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    principal = x509.OtherName(_PRINCIPAL, _utf8_string(f"{user_id}@localhost"))
    usage = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer_name=name, subject_name=name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + _LIFETIME)
        .add_extension(usage, critical=False)
        .add_extension(x509.SubjectAlternativeName([principal]), critical=False)
        .sign(private, hashes.SHA256())
    )


def _utf8_string(text: str) -> bytes:
    """Encode a text as a DER UTF8String."""
    data = text.encode()
    if len(data) < _SHORT:
        return bytes([_UTF8_STRING, len(data)]) + data
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8)
    return bytes([_UTF8_STRING, _SHORT + len(length)]) + length + data


def _pem(private: rsa.RSAPrivateKey, form: serialization.PrivateFormat) -> str:
    return private.private_bytes(
        serialization.Encoding.PEM, form, serialization.NoEncryption()
    ).decode()


def _invalid(reason: str) -> exception.Invalid:
    return exception.Invalid(f"Keypair data is invalid: {reason}")


TYPES: Final = 2  # since 2.2 key pairs have a type


def brief(keypair: Keypair, *, version: int) -> dict[str, Any]:
    """Return a key pair of a list."""
    shown = {"fingerprint": keypair.fingerprint, "name": keypair.name}
    if version >= TYPES:
        shown["type"] = keypair.type
    return {"keypair": {**shown, "public_key": keypair.public_key}}


def created(keypair: Keypair, private_key: str | None, *, version: int) -> dict[str, Any]:
    """Return a new key pair, with the private key if it was generated here."""
    shown = _owned(keypair, version=version)
    if private_key is not None:
        shown["private_key"] = private_key
    return {"keypair": shown}


def full(keypair: Keypair, *, version: int) -> dict[str, Any]:
    """Return a key pair with all its fields; deleted ones cannot be shown."""
    return {
        "keypair": {
            **_owned(keypair, version=version),
            "deleted": False,
            "created_at": micros(keypair.created_at),
            "updated_at": None,
            "deleted_at": None,
            "id": keypair.id,
        }
    }


def _owned(keypair: Keypair, *, version: int) -> dict[str, Any]:
    shown: dict[str, Any] = brief(keypair, version=version)["keypair"]
    return {**shown, "user_id": keypair.user_id}


class Keypairs:
    """Handlers of ``/os-keypairs``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._limits = dependencies.options.quota
        self._most = dependencies.options.max_limit
        self._now = dependencies.now

    def list_all(self, call: Call) -> Answer:
        owner = _owner(call, call.query.one("user_id"))
        paged = call.version >= PAGES
        limit = pagination.limit(call, most=self._most) if paged else None
        marker = call.query.one("marker") if paged else None
        found = self._database.query(_page, owner, marker=marker, limit=limit)
        links = pagination.links(
            call,
            "keypairs",
            full=limit is not None and len(found) == limit,
            last=found[-1].name if found else "",
        )
        shown = [brief(keypair, version=call.version) for keypair in found]
        return Answer({"keypairs": shown, **links})

    def create(self, call: Call) -> Answer:
        asked = call.body["keypair"]
        owner = _owner(call, asked.get("user_id"))
        material = _material(asked, owner)
        keypair = Keypair.of(
            uuid=str(uuid.uuid4()),
            user_id=owner,
            name=asked["name"],
            type=asked.get("type", SSH),
            public_key=material.public_key,
            fingerprint=material.fingerprint,
            created_at=self._now(),
        )
        stored = self._database.write(
            rows.create, keypair, project_id=call.project_id, defaults=self._limits
        )
        return Answer(created(stored, material.private_key, version=call.version))

    def show(self, call: Call) -> Answer:
        return Answer(full(self._get(call), version=call.version))

    def delete(self, call: Call) -> Answer:
        self._database.write(rows.delete, self._get(call))
        return Answer()

    def _get(self, call: Call) -> Keypair:
        owner = _owner(call, call.query.one("user_id"))
        return self._database.query(rows.get, owner, call.params["keypair_name"])


def _owner(call: Call, named: str | None) -> str:
    """Return the owner of the key pairs: the caller, or since 2.10 the user that is named.

    :raises roost.exception.Forbidden: when the caller may not do this for that user
    """
    own = str(call.context.user_id)
    owner = (named or own) if call.version >= OWNERS else own
    call.may_act_for(owner)
    return owner


def _page(session: Session, owner: str, *, marker: str | None, limit: int | None) -> list[Keypair]:
    try:
        return rows.list_of_user(session, owner, after=marker, limit=limit)
    except exception.NotFound as error:
        raise exception.Invalid(f"Marker {marker} could not be found.") from error


def _material(asked: dict[str, Any], owner: str) -> Material:
    kind = asked.get("type", SSH)
    if "public_key" in asked:
        return imported(kind, asked["public_key"])
    return generated(kind, owner)


_KEYPAIR: Final = "/v2.1/os-keypairs/{keypair_name}"

_OWN = f"({ADMIN}) or user_id:%(user_id)s"
CREATE_POLICY = Rule(
    "os_compute_api:os-keypairs:create", _OWN, "Import or make a key pair of a user."
)
DELETE_POLICY = Rule(
    "os_compute_api:os-keypairs:delete", _OWN, "Delete a user's key pair; servers keep it."
)

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-keypairs",
        (Keypairs, Keypairs.list_all),
        Rule("os_compute_api:os-keypairs:index", _OWN, "List a user's key pairs."),
        query=LIST_QUERY,
    ),
    row(
        "POST /v2.1/os-keypairs",
        (Keypairs, Keypairs.create),
        CREATE_POLICY,
        body=CREATE,
        until=1,
    ),
    row(
        "POST /v2.1/os-keypairs",
        (Keypairs, Keypairs.create),
        CREATE_POLICY,
        body=CREATE,
        status=201,
        since=2,
    ),
    row(
        f"GET {_KEYPAIR}",
        (Keypairs, Keypairs.show),
        Rule("os_compute_api:os-keypairs:show", _OWN, "Show a user's key pair."),
        query=ONE_QUERY,
    ),
    row(
        f"DELETE {_KEYPAIR}",
        (Keypairs, Keypairs.delete),
        DELETE_POLICY,
        query=ONE_QUERY,
        status=202,
        until=1,
    ),
    row(
        f"DELETE {_KEYPAIR}",
        (Keypairs, Keypairs.delete),
        DELETE_POLICY,
        query=ONE_QUERY,
        status=204,
        since=2,
    ),
)
