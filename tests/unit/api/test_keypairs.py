"""Public keys that are given, and pairs that are made: they are what other programs take."""

import contextlib
import pathlib
import shutil
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from roost import exception
from roost.api.compute import keypairs
from tests.builders import FINGERPRINT, PUBLIC_KEY

# What openssl made, and says of it.
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBNjCB6aADAgECAhQhtX5oBdaHtaeSA4wnGum4N967zzAFBgMrZXAwEDEOMAwG
A1UEAwwFYWxpY2UwIBcNMjYxMTIxMTk0NTQ5WhgPMjEyNjEwMjgxOTQ1NDlaMBAx
DjAMBgNVBAMMBWFsaWNlMCowBQYDK2VwAyEAMblEGpL2PQ2Ui/EvbCEW8MBQRSEs
V0ZB6GrxRhtoOL6jUzBRMB0GA1UdDgQWBBQSuqqSHqnBsm8kgiJ83gdZMu6GvzAf
BgNVHSMEGDAWgBQSuqqSHqnBsm8kgiJ83gdZMu6GvzAPBgNVHRMBAf8EBTADAQH/
MAUGAytlcANBALoy8JbM14iJGYKwagyEa05/MICYDFn+fND0CTcFgv0E7VZ80+p4
j1t6/yBxtPc0hh7LPZ6r5M2GAg+9ZV0IGQo=
-----END CERTIFICATE-----
"""
CERTIFICATE_FINGERPRINT = "36:0c:96:dc:79:c7:41:8c:2d:c4:85:0f:cc:4a:b8:1e:e0:fd:25:17"


def in_ssh_form(private):
    return private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )


def private_of(material):
    return serialization.load_pem_private_key(material.private_key.encode(), password=None)


def ssh_keygen(*arguments):
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("there is no ssh-keygen here")
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("end", ["", "\n", " \n"])
def test_a_public_key_has_the_fingerprint_that_ssh_keygen_says(end):
    material = keypairs.imported("ssh", PUBLIC_KEY + end)
    assert (material.public_key, material.fingerprint) == (PUBLIC_KEY + end, FINGERPRINT)
    assert material.private_key is None


def test_a_certificate_has_the_fingerprint_that_openssl_says():
    material = keypairs.imported("x509", CERTIFICATE)
    assert (material.public_key, material.fingerprint) == (CERTIFICATE, CERTIFICATE_FINGERPRINT)


@pytest.mark.parametrize(
    "private",
    [
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP521R1()),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["rsa", "p256", "p521", "ed25519"],
)
def test_keys_of_all_usual_kinds_are_taken(private):
    assert len(keypairs.imported("ssh", in_ssh_form(private).decode()).fingerprint) == 47


@pytest.mark.parametrize(
    "said",
    [
        "",
        " ",
        "ssh-rsa",
        "ssh-rsa AAAA",
        "ssh-rsa !!!!",
        "ssh-rsa é",
        "ssh-none AAAAC3NzaC1lZDI1NTE5AAAAIKZMhJ09JHyIFIH1oqSoDLAF7A/vmBSrKPnmgNiIc0l8",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIKZMhJ09JHyIFIH1oqSoDLAF7A/vmBSrKPnmgNiIc0l8",
        PUBLIC_KEY[:60],
        CERTIFICATE,
    ],
)
def test_what_is_no_public_key_is_refused(said):
    with pytest.raises(exception.Invalid) as refused:
        keypairs.imported("ssh", said)
    expected = "Keypair data is invalid: failed to generate fingerprint"
    assert refused.value.message == expected


@pytest.mark.parametrize("said", ["", "x", PUBLIC_KEY, CERTIFICATE[:200], CERTIFICATE[28:-26]])
def test_what_is_no_certificate_is_refused(said):
    with pytest.raises(exception.Invalid, match="failed to generate X509 fingerprint"):
        keypairs.imported("x509", said)


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(["ssh", "x509"]),
    good=st.sampled_from([PUBLIC_KEY, CERTIFICATE]),
    at=st.integers(0, 400),
    spoilt=st.text(max_size=9),
)
def test_a_key_gone_bad_is_read_or_refused(kind, good, at, spoilt):
    with contextlib.suppress(exception.Invalid):
        keypairs.imported(kind, good[:at] + spoilt + good[at + len(spoilt) :])


def test_a_generated_pair_belongs_together():
    material = keypairs.generated("ssh", "alice")
    private = private_of(material)
    assert private.key_size == 2048
    kind, data, comment = material.public_key.split()
    assert f"{kind} {data}" == in_ssh_form(private).decode()
    assert comment == "Generated-by-Roost"
    assert material.private_key.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert material.fingerprint == keypairs.imported("ssh", material.public_key).fingerprint


def test_ssh_takes_a_generated_pair(tmp_path: pathlib.Path):
    material = keypairs.generated("ssh", "alice")
    public, private = tmp_path / "key.pub", tmp_path / "key"
    public.write_text(material.public_key + "\n")
    private.touch(mode=0o600)
    private.write_text(material.private_key)
    assert f"MD5:{material.fingerprint} " in ssh_keygen("-l", "-E", "md5", "-f", public)
    assert ssh_keygen("-y", "-f", private).split()[:2] == material.public_key.split()[:2]


def test_a_generated_certificate_logs_its_user_in():
    material = keypairs.generated("x509", "alice")
    certificate = x509.load_pem_x509_certificate(material.public_key.encode())
    assert certificate.public_key() == private_of(material).public_key()
    certificate.verify_directly_issued_by(certificate)
    assert certificate.subject.rfc4514_string() == "CN=alice"
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.ExtendedKeyUsageOID.CLIENT_AUTH]
    assert principal(certificate) == b"\x0c\x0falice@localhost"
    years = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert years.days == 3650
    assert material.fingerprint == certificate.fingerprint(hashes.SHA1()).hex(":")


def principal(certificate):
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    (name,) = names.get_values_for_type(x509.OtherName)
    return name.value


@pytest.mark.parametrize("user", ["", "é" * 64, "a" * 110, "a" * 255], ids=len)
def test_certificates_are_for_users_of_any_name(user):
    material = keypairs.generated("x509", user)
    certificate = x509.load_pem_x509_certificate(material.public_key.encode())
    assert principal(certificate).endswith(f"{user}@localhost".encode())


def test_a_private_key_is_not_told_by_accident():
    assert "PRIVATE" not in repr(keypairs.generated("ssh", "alice"))
