"""What Keystone, Glance and Neutron need to run: a folder with databases and configuration.

They stand on SQLite. Neutron has no agents: pretended guests are plugged into nothing.
"""

import pathlib
import shutil
from collections.abc import Mapping
from typing import Any, Final

from roost.rig.files import Options, config_text, write_secret
from roost.rig.openstack.packages import HERE, key_options, write_keys
from roost.rig.openstack.plan import GLANCE, KEYSTONE, NEUTRON

_PIPELINE: Final = """\
[composite:glance-api]
paste.composite_factory = glance.api:root_app_factory
/: api
[composite:api]
paste.composite_factory = glance.api:pipeline_factory
default = versionnegotiation {judge}context rootapp
[composite:rootapp]
paste.composite_factory = glance.api:root_app_factory
/: apiversions
/v2: apiv2app
[app:apiversions]
paste.app_factory = glance.api.versions:create_resource
[app:apiv2app]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versionnegotiation]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
delay_auth_decision = true
[filter:context]
paste.filter_factory = glance.api.middleware.context:ContextMiddleware.factory
"""
_LOCK_SECONDS: Final = 60  # that who writes waits for another one to end
_METADATA: Final = "Metadata-Version: 2.1\nName: roost-rig\nVersion: 1\n"
_ENTRY_POINTS: Final = """\
[neutron.ml2.mechanism_drivers]
any_host = mechanism:AnyHost
"""


def command(installed: pathlib.Path, name: str, port: int, folder: pathlib.Path) -> list[str]:
    """Return what serves one of them, once its folder is prepared.

    :param installed: the folder of :func:`roost.rig.openstack.packages.install`
    """
    python, script = installed / "venv/bin/python", HERE / "serve.py"
    return [str(python), "-I", str(script), name, str(port), str(folder)]


def prepare_keystone(installed: pathlib.Path, folder: pathlib.Path) -> None:
    """Fill Keystone's folder, which is made.

    Its administrator has the password ``packages.FIRST_PASSWORD``, see ``packages.bootstrap``.
    """
    _begin(installed, folder, KEYSTONE)
    write_keys(folder / "keys")
    options: Options = {
        "database": _database(folder, KEYSTONE),
        **key_options(folder / "keys"),
        "cache": {"enabled": "true", "backend": "oslo_cache.dict"},
        "identity": {"password_hash_rounds": 4},
    }
    write_secret(folder / "keystone.conf", config_text(options))


def prepare_glance(
    installed: pathlib.Path, folder: pathlib.Path, judging: Mapping[str, Any] | None
) -> None:
    """Fill Glance's folder, which is made; images are kept there, too.

    :param judging: the options by which it judges tokens; None: whoever wraps it does that
    """
    _begin(installed, folder, GLANCE)
    stores = {name: folder / name for name in ("images", "staging", "tasks")}
    for store in stores.values():
        store.mkdir()
    options: Options = {
        "DEFAULT": {"enabled_backends": "local:file", "enabled_import_methods": "[]", "workers": 1},
        "database": _database(folder, GLANCE),
        "glance_store": {"default_backend": "local"},
        "local": {"filesystem_store_datadir": stores["images"]},
        "os_glance_staging_store": {"filesystem_store_datadir": stores["staging"]},
        "os_glance_tasks_store": {"filesystem_store_datadir": stores["tasks"]},
        "paste_deploy": {"config_file": folder / "paste.ini"},
        "oslo_policy": {"enforce_new_defaults": "true"},
        **({"keystone_authtoken": judging} if judging else {}),
    }
    write_secret(folder / "glance-api.conf", config_text(options))
    (folder / "paste.ini").write_text(_PIPELINE.format(judge="authtoken " if judging else ""))


def prepare_neutron(
    installed: pathlib.Path,
    folder: pathlib.Path,
    *,
    judging: Mapping[str, Any] | None,
    compute: Mapping[str, Any],
) -> None:
    """Fill Neutron's folder, which is made.

    :param judging: the options by which it judges tokens; None: everybody is its administrator
    :param compute: the options by which it tells Compute of its ports, and proves who it is
    """
    _begin(installed, folder, NEUTRON)
    options: Options = {
        "DEFAULT": {
            "core_plugin": "ml2",
            "service_plugins": "router,auto_allocate",
            "auth_strategy": "keystone" if judging else "noauth",
            "transport_url": "fake:/",
            "api_paste_config": installed / "venv/etc/neutron/api-paste.ini",
            "state_path": folder,
            "dhcp_agent_notification": "false",
            "send_events_interval": 1,
        },
        "database": _database(folder, NEUTRON),
        "ml2": {
            "type_drivers": "local",
            "tenant_network_types": "local",
            "mechanism_drivers": "any_host",
            "extension_drivers": "port_security",
        },
        "oslo_concurrency": {"lock_path": folder / "locks"},
        "oslo_policy": {"policy_file": folder / "policy.yaml"},
        "nova": compute,
        **({"keystone_authtoken": judging} if judging else {}),
    }
    write_secret(folder / "neutron.conf", config_text(options))
    (folder / "policy.yaml").touch()
    _plug_in(folder / "plug-ins")


def _plug_in(folder: pathlib.Path) -> None:
    """Let Neutron find what binds ports, by an entry point."""
    described = folder / "roost_rig-1.dist-info"
    described.mkdir(parents=True)
    shutil.copy(HERE / "mechanism.py", folder)
    (described / "METADATA").write_text(_METADATA)
    (described / "entry_points.txt").write_text(_ENTRY_POINTS)


def _begin(installed: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(installed / f"{name}.sqlite", folder)


def _database(folder: pathlib.Path, name: str) -> dict[str, str]:
    """Return the options of a database that nobody needs after this machine has crashed."""
    return {
        "connection": f"sqlite:///{folder}/{name}.sqlite?timeout={_LOCK_SECONDS}",
        "sqlite_synchronous": "false",
    }
