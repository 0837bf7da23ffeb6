"""Signed images, by keys and certificates as their owners make them."""

import base64
import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, padding, rsa
from cryptography.x509.oid import NameOID

from roost import exception
from roost.image.signatures import CertificateFolder, Signatures
from tests.builders import a_uuid, an_image

DATA = b"an image, all of it"
NOW = datetime.datetime.now(datetime.UTC)
YEAR = datetime.timedelta(days=365)
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS = {
    "RSA-PSS": RSA,
    "DSA": dsa.generate_private_key(key_size=2048),
    "ECC_SECP384R1": ec.generate_private_key(ec.SECP384R1()),
    "ECC_SECP521R1": ec.generate_private_key(ec.SECP521R1()),
}
HASHES = {"SHA-224": hashes.SHA224(), "SHA-256": hashes.SHA256(),
          "SHA-384": hashes.SHA384(), "SHA-512": hashes.SHA512()}  # fmt: skip


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def certificate(key, *, name="owner", issuer=None, by=None, ca=False, since=NOW - YEAR, years=2):
    """Return a certificate of a key, which has issued it itself unless it is said who has."""
    built = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer or name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(since + years * YEAR)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    return built.sign(by or key, hashes.SHA256())


def signature(key, data, method):
    if isinstance(key, rsa.RSAPrivateKey):
        pss = padding.PSS(mgf=padding.MGF1(method), salt_length=padding.PSS.MAX_LENGTH)
        return key.sign(data, pss, method)
    if isinstance(key, dsa.DSAPrivateKey):
        return key.sign(data, method)
    return key.sign(data, ec.ECDSA(method))


@pytest.fixture
def keep(tmp_path):
    """Put a certificate into the folder; return its uuid."""

    def keep(one):
        uuid = a_uuid()
        (tmp_path / f"{uuid}.pem").write_bytes(one.public_bytes(serialization.Encoding.PEM))
        return uuid

    return keep


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def check(tmp_path, path):
    def check(properties, *, trusted=(), always=False, usual=()):
        store = CertificateFolder(tmp_path)
        signatures = Signatures(store, always=always, trusted=usual)
        signatures.check(an_image(properties=properties), path, trusted=trusted)

    return check


def signed(uuid, *, kind="RSA-PSS", method="SHA-256", data=DATA, key=None):
    made = signature(key or KEYS[kind], data, HASHES[method])
    return {
        "img_signature": base64.b64encode(made).decode(),
        "img_signature_hash_method": method,
        "img_signature_key_type": kind,
        "img_signature_certificate_uuid": uuid,
    }


def refusal(check, *asked, **values):
    with pytest.raises(exception.Invalid) as refused:
        check(*asked, **values)
    return refused.value.message


@pytest.mark.parametrize("method", HASHES)
@pytest.mark.parametrize("kind", KEYS)
def test_what_the_owner_has_signed_is_good_and_nothing_else(check, keep, kind, method):
    uuid = keep(certificate(KEYS[kind]))
    check(signed(uuid, kind=kind, method=method), trusted=[uuid])
    other = signed(uuid, kind=kind, method=method, data=DATA + b"!")
    assert "its signature is not that of its data" in refusal(check, other, trusted=[uuid])


def test_a_certificate_is_trusted_that_a_trusted_one_has_issued(check, keep):
    authority = KEYS["ECC_SECP384R1"]
    root = keep(certificate(authority, name="root", ca=True))
    uuid = keep(certificate(RSA, issuer="root", by=authority))
    check(signed(uuid), trusted=[keep(certificate(KEYS["DSA"])), root])


@pytest.mark.parametrize(
    "others",
    [
        {"name": "root", "ca": False},  # may not issue any
        {"name": "another", "ca": True},
        {"name": "root", "ca": True, "key": "ECC_SECP521R1"},  # takes its name
    ],
)
def test_a_certificate_that_nobody_trusted_has_issued_is_refused(check, keep, others):
    authority = KEYS["ECC_SECP384R1"]
    uuid = keep(certificate(RSA, issuer="root", by=authority))
    key = KEYS[others.pop("key", "ECC_SECP384R1")]
    said = refusal(check, signed(uuid), trusted=[keep(certificate(key, **others))])
    assert "not trusted" in said


@pytest.mark.parametrize("since", [NOW - 3 * YEAR, NOW + YEAR])
def test_a_certificate_has_its_time_and_so_has_its_issuer(check, keep, since):
    uuid = keep(certificate(RSA, since=since))
    assert "is valid from" in refusal(check, signed(uuid), trusted=[uuid])
    authority = KEYS["ECC_SECP384R1"]
    root = keep(certificate(authority, name="root", ca=True, since=since))
    uuid = keep(certificate(RSA, issuer="root", by=authority))
    assert "is valid from" in refusal(check, signed(uuid), trusted=[root])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"img_signature": ""}, "it is not signed: it has no img_signature"),
        ({"img_signature": "?"}, "img_signature is not base64"),
        ({"img_signature": "YWJj"}, "its signature is not that of its data"),
        ({"img_signature_key_type": "RSA"}, "must be one of RSA-PSS, DSA, ECC_SECP384R1"),
        ({"img_signature_key_type": "DSA"}, "the key of its certificate is not of its img_sig"),
        ({"img_signature_hash_method": "MD5"}, "must be one of SHA-224, SHA-256"),
        ({"img_signature_certificate_uuid": "../etc"}, "There is no certificate ../etc"),
        ({"img_signature_certificate_uuid": a_uuid()}, "There is no certificate"),
    ],
)
def test_what_is_wrong_with_a_signature_is_said(check, keep, changes, said):
    uuid = keep(certificate(RSA))
    assert said in refusal(check, signed(uuid) | changes, trusted=[uuid])


def test_an_unsigned_image_is_let_pass_only_where_nobody_asks(check, keep):
    check({})
    uuid = keep(certificate(RSA))
    assert "it is not signed" in refusal(check, {}, trusted=[uuid])
    assert "it is not signed" in refusal(check, {}, always=True)


def test_operators_say_whom_to_trust_where_users_do_not(check, keep):
    uuid, other = keep(certificate(RSA)), keep(certificate(KEYS["DSA"], name="other"))
    check(signed(uuid), always=True)
    check(signed(uuid), always=True, usual=[uuid])
    assert "not trusted" in refusal(check, signed(uuid), always=True, usual=[other])
    check(signed(uuid), trusted=[uuid], always=True, usual=[other])


def test_another_host_may_verify_what_this_one_cannot(path):
    with pytest.raises(exception.Unavailable, match="no certificates to verify"):
        Signatures().check(an_image(), path, trusted=[a_uuid()])
