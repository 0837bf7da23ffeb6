"""EC2-compatible metadata documents: ``VERSION/meta-data/...`` and ``VERSION/user-data``."""

import json
from typing import Any, Final

from roost.guestdata.about import About, Tree, below
from roost.objects import instance

LATEST: Final = "latest"
VERSIONS: Final = (
    "1.0",
    "2007-01-19",
    "2007-03-01",
    "2007-08-29",
    "2007-10-10",
    "2007-12-15",
    "2008-02-01",
    "2008-09-01",
    "2009-04-04",
    LATEST,
)
ON_DRIVES: Final = ("2009-04-04", LATEST)
KEYS: Final = "public-keys"
_DIGITS: Final = 17  # of EC2 ids
_IPV6: Final = ":"


def tree(about: About) -> Tree:
    """Return all documents of all versions, as they are served."""
    files: Tree = {}
    for version in VERSIONS:
        documents = below("meta-data", _flat(meta_data(about, version)))
        files |= below(version, documents | _user_data(about))
    return files


def drive(about: About) -> Tree:
    """Return the documents of a config drive: one metadata file per version."""
    files: Tree = {}
    for version in ON_DRIVES:
        document = json.dumps(meta_data(about, version), sort_keys=True).encode()
        files |= below(version, {"meta-data.json": document, **_user_data(about)})
    return below("ec2", files)


def key_names(about: About) -> list[str]:
    """Return the listing of the folder of keys, whose entries are not the names of its files."""
    pair = about.instance.keypair
    return [] if pair is None or pair.type != "ssh" else [f"0={pair.name}"]


def meta_data(about: About, version: str = LATEST) -> dict[str, Any]:
    """Return the metadata of a version, folders as mappings. Versions compare as texts."""
    found: dict[str, Any] = {}
    for since, facts in (
        ("1.0", _first(about)),
        ("2007-01-19", _names(about)),
        ("2007-03-01", {"product-codes": []}),
        ("2007-08-29", {"instance-type": about.instance.flavor.name}),
        ("2007-12-15", _devices(about)),
        ("2008-02-01", _parts(about)),
    ):
        if since <= version:
            found |= facts
    return found


def _first(about: About) -> dict[str, Any]:
    instance = about.instance
    key = instance.keypair if key_names(about) else None
    keys = {"0": {"openssh-key": key.public_key}} if key else {}
    return {
        "ami-id": _short("ami", instance.image.id if instance.image else ""),
        "ami-launch-index": instance.launch_index,
        "ami-manifest-path": "",
        "hostname": about.hostname,
        "instance-id": _short("i", str(instance.uuid)),
        "local-ipv4": _ipv4(about),
        **({KEYS: keys} if keys else {}),
        "reservation-id": instance.reservation_id,
        "security-groups": list(instance.security_groups),
    }


def _names(about: About) -> dict[str, Any]:
    return {
        "local-hostname": about.hostname,
        "public-hostname": about.hostname,
        "public-ipv4": about.instance.access_ip_v4 or _ipv4(about, floating=True),
    }


def _devices(about: About) -> dict[str, Any]:
    root = instance.name_of(about.instance)
    return {
        "block-device-mapping": {"ami": root.removeprefix("/dev/"), "root": root},
        "instance-action": "none",
        "placement": {"availability-zone": about.instance.availability_zone or ""},
    }


def _parts(about: About) -> dict[str, Any]:
    """Return kernel and ramdisk, of images that have separate ones."""
    properties = about.instance.image.properties if about.instance.image else {}
    named = {"kernel-id": "aki", "ramdisk-id": "ari"}
    return {
        name: _short(prefix, properties[name.replace("-", "_")])
        for name, prefix in named.items()
        if properties.get(name.replace("-", "_"))
    }


def _ipv4(about: About, *, floating: bool = False) -> str:
    """Return the first IPv4 address that is floating, or is not; "": there is none."""
    known = (pair for vif in about.vifs for pair in vif.all_ips())
    return next((ip for ip, floats in known if floats == floating and _IPV6 not in ip), "")


def _short(prefix: str, uuid: str) -> str:
    """Return an id in EC2's form, derived from the uuid."""
    digits = uuid.replace("-", "")[:_DIGITS]
    return f"{prefix}-{digits}" if digits else ""


def _user_data(about: About) -> Tree:
    return {} if about.user_data is None else {"user-data": about.user_data}


def _flat(values: dict[str, Any], *, folder: str = "") -> Tree:
    files: Tree = {}
    for name, value in values.items():
        if isinstance(value, dict):
            files |= _flat(value, folder=f"{folder}{name}/")
        else:
            text = "\n".join(value) if isinstance(value, list) else str(value)
            files[folder + name] = text.encode()
    return files
