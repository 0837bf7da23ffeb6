"""What key pairs are made of: public keys that are given, and pairs that are made here.

A private key is returned to whoever asks for a pair, and goes nowhere else.
"""

import binascii
import dataclasses
import datetime
import hashlib
from typing import Final

from cryptography import exceptions as crypto_exceptions
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from roost import exception

SSH: Final = "ssh"
X509: Final = "x509"

_BITS: Final = 2048
_EXPONENT: Final = 65537
_COMMENT: Final = "Generated-by-Roost"
_LIFETIME: Final = datetime.timedelta(days=3650)
_MAX_COMMON_NAME: Final = 64  # bytes
_PRINCIPAL: Final = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")  # whom Windows logs in
_UTF8_STRING: Final = 0x0C
_SHORT: Final = 0x80  # lengths below it are written in one byte
_UNREADABLE: Final = (ValueError, TypeError, crypto_exceptions.UnsupportedAlgorithm)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Material:
    """A public key and its fingerprint; with the private key, in PEM, if the pair was made here."""

    public_key: str
    fingerprint: str
    private_key: str | None = dataclasses.field(default=None, repr=False)


def imported(kind: str, public_key: str) -> Material:
    """Read a public key, as it is in authorized_keys, or a certificate in PEM.

    :raises roost.exception.Invalid: when it is none
    """
    fingerprint = _fingerprint_x509 if kind == X509 else _fingerprint_ssh
    return Material(public_key=public_key, fingerprint=fingerprint(public_key))


def generated(kind: str, user_id: str) -> Material:
    """Make a pair: RSA, for x509 with a certificate by which Windows logs in ``user_id``."""
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
    """Return what ``ssh-keygen -l -E md5`` says."""
    try:
        serialization.load_ssh_public_key(public_key.encode())
        data = binascii.a2b_base64(public_key.split()[1])
    except _UNREADABLE as error:
        raise _invalid("failed to generate fingerprint") from error
    return hashlib.md5(data, usedforsecurity=False).digest().hex(":")


def _fingerprint_x509(certificate: str) -> str:
    """Return what ``openssl x509 -fingerprint -sha1`` says, in small letters."""
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
    """Write a text as DER does."""
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
