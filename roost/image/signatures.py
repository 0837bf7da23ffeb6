"""Verification of signed images and of their signers' certificates.

The properties ``img_signature`` (base64), ``img_signature_hash_method``, ``img_signature_key_type``
and ``img_signature_certificate_uuid`` describe the signature, as in Nova. The certificate comes
from the operator's certificate store. It is trusted if it is one of the trusted certificates, or
if one of them has issued it.
"""

import base64
import binascii
import datetime
import hashlib
import logging
import os
import pathlib
import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, padding, rsa, utils

from roost import exception
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
_PREFIX: Final = "img_signature"
_HASHES: Final[Mapping[str, hashes.HashAlgorithm]] = {
    "SHA-224": hashes.SHA224(),
    "SHA-256": hashes.SHA256(),
    "SHA-384": hashes.SHA384(),
    "SHA-512": hashes.SHA512(),
}
_Verify = Callable[[Any, bytes, bytes, hashes.HashAlgorithm], None]


def _verify_rsa(key: Any, signature: bytes, digest: bytes, method: hashes.HashAlgorithm) -> None:
    pss = padding.PSS(mgf=padding.MGF1(method), salt_length=padding.PSS.AUTO)
    key.verify(signature, digest, pss, utils.Prehashed(method))


def _verify_dsa(key: Any, signature: bytes, digest: bytes, method: hashes.HashAlgorithm) -> None:
    key.verify(signature, digest, utils.Prehashed(method))


def _verify_ecc(key: Any, signature: bytes, digest: bytes, method: hashes.HashAlgorithm) -> None:
    key.verify(signature, digest, ec.ECDSA(utils.Prehashed(method)))


# Key type -> the class of the certificate's key, its curve, and its verification.
_KEYS: Final[Mapping[str, tuple[type, str | None, _Verify]]] = {
    "RSA-PSS": (rsa.RSAPublicKey, None, _verify_rsa),
    "DSA": (dsa.DSAPublicKey, None, _verify_dsa),
    "ECC_SECP384R1": (ec.EllipticCurvePublicKey, "secp384r1", _verify_ecc),
    "ECC_SECP521R1": (ec.EllipticCurvePublicKey, "secp521r1", _verify_ecc),
}


class Certificates(Protocol):
    """The interface of certificate stores."""

    def get(self, uuid: str) -> x509.Certificate:
        """Return a certificate.

        :raises roost.exception.NotFound: when there is none, or it is invalid
        """


class CertificateFolder:
    """Certificates as files in the operator's folder: ``UUID.pem``, one in each."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = pathlib.Path(folder)

    def get(self, uuid: str) -> x509.Certificate:
        try:
            path = self._folder / f"{uuids.UUID(uuid)}.pem"
            return x509.load_pem_x509_certificate(path.read_bytes())
        except (OSError, ValueError) as error:
            LOG.warning("the certificate %r cannot be read: %s", uuid, error)
            raise exception.NotFound(f"There is no certificate {uuid}.") from error


class Signatures:
    """Verifies images.

    :param certificates: None: this host cannot verify
    :param always: also images of servers whose users name no certificates
    :param trusted: certificates that are trusted where users name none; empty: all in the store
    """

    def __init__(
        self,
        certificates: Certificates | None = None,
        *,
        always: bool = False,
        trusted: Sequence[str] = (),
    ) -> None:
        self._certificates = certificates
        self._always = always
        self._trusted = tuple(trusted)

    def check(self, image: ImageMeta, path: pathlib.Path, *, trusted: Sequence[str]) -> None:
        """Make sure that an image which is to be verified has a valid signature.

        :param path: of its complete data
        :param trusted: the certificates that its server trusts; empty: the default
        :raises roost.exception.Unavailable: when this host cannot verify; another may
        :raises roost.exception.Invalid: when the signature is missing, invalid or not trusted
        """
        if not trusted and not self._always:
            return
        if self._certificates is None:
            raise exception.Unavailable("this host has no certificates to verify its signature by")
        try:
            self._verify(self._certificates, image, path, [*(trusted or self._trusted)])
        except exception.NotFound as error:
            raise exception.Invalid(error.message) from error
        LOG.info("the signature of image %s is good", image.id)

    def _verify(
        self, store: Certificates, image: ImageMeta, path: pathlib.Path, trusted: list[str]
    ) -> None:
        said = {
            name: _property(image, f"{_PREFIX}{name}")
            for name in ("", "_hash_method", "_key_type", "_certificate_uuid")
        }
        method = _one_of(_HASHES, f"{_PREFIX}_hash_method", said["_hash_method"])
        kind = _one_of(_KEYS, f"{_PREFIX}_key_type", said["_key_type"])
        signer = store.get(said["_certificate_uuid"])
        _check_trust(signer, [store.get(uuid) for uuid in trusted])
        _check_signature(kind, signer, _bytes(said[""]), _digest(path, method), method)


def _property(image: ImageMeta, name: str) -> str:
    found = str(image.properties.get(name, "")).strip()
    if not found:
        raise exception.Invalid(f"it is not signed: it has no {name}")
    return found


def _one_of(known: Mapping[str, Any], name: str, said: str) -> Any:
    if said not in known:
        raise exception.Invalid(f"{name} is '{said}', but must be one of {', '.join(known)}")
    return known[said]


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise exception.Invalid(f"{_PREFIX} is not base64") from error


def _digest(path: pathlib.Path, method: hashes.HashAlgorithm) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, method.name).digest()


def _check_signature(
    kind: tuple[type, str | None, _Verify],
    signer: x509.Certificate,
    signature: bytes,
    digest: bytes,
    method: hashes.HashAlgorithm,
) -> None:
    wanted, curve, verify = kind
    key = signer.public_key()
    if not isinstance(key, wanted) or (curve and getattr(key, "curve").name != curve):  # noqa: B009
        raise exception.Invalid(f"the key of its certificate is not of its {_PREFIX}_key_type")
    try:
        verify(key, signature, digest, method)
    except (exceptions.InvalidSignature, ValueError) as error:
        raise exception.Invalid("its signature is not that of its data") from error


def _check_trust(signer: x509.Certificate, trusted: Sequence[x509.Certificate]) -> None:
    """Make sure that a certificate is trusted, or issued by a trusted one, and valid now."""
    _check_time(signer)
    if not trusted or signer in trusted:
        return
    issuers = [one for one in trusted if _has_issued(one, signer)]
    if not issuers:
        raise exception.Invalid("the certificate of its signer is not trusted")
    _check_time(issuers[0])


def _check_time(certificate: x509.Certificate) -> None:
    now = datetime.datetime.now(datetime.UTC)
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise exception.Invalid(
            f"the certificate {certificate.subject.rfc4514_string()} is valid from"
            f" {certificate.not_valid_before_utc} to {certificate.not_valid_after_utc}"
        )


def _has_issued(issuer: x509.Certificate, signer: x509.Certificate) -> bool:
    """Return whether one may issue certificates, and has issued the other."""
    try:
        if not issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        signer.verify_directly_issued_by(issuer)
    except (x509.ExtensionNotFound, exceptions.InvalidSignature, ValueError, TypeError):
        return False
    return True
