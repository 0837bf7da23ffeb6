"""roost-consoleproxy: connects browsers to consoles. Any number serve, behind a load balancer."""

from roost import concurrency

concurrency.select()

import pathlib
import ssl
from typing import Final

from oslo_config import cfg

from roost import exception, migrations
from roost.cmd import _checks, _database, _options, _run
from roost.cmd._daemon import Daemon, Periodic
from roost.consoleproxy.proxy import ConsoleProxy, ProxySettings
from roost.consoleproxy.tokens import Tokens

NAME = "roost-consoleproxy"
_LOOK: Final = 2.0  # seconds between two checks whether tokens of open consoles were revoked
_PAGES: Final = {"web": "", "spice_web": "spice"}  # options of folders -> URL paths


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble the proxy; it serves in this process, with native threads.

    :raises roost.exception.Invalid: when options are invalid
    """
    if concurrency.selected() != concurrency.THREADING:
        raise exception.Invalid("roost-consoleproxy needs concurrency = threading.")
    database = _database.configured(conf, "api_database")
    proxy = ConsoleProxy(_settings(conf), Tokens(database))
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.API)],
        servers=[proxy],
        periodics=[Periodic(_LOOK, proxy.end_revoked, "revoked tokens")],
        closing=[database],
    )


def _settings(conf: cfg.ConfigOpts) -> ProxySettings:
    group = conf.console_proxy
    return ProxySettings(
        host=str(group.listen),
        port=group.port,
        tls=_tls(conf),
        origins=tuple(group.allowed_origins),
        web=_web(group),
        most=group.max_connections,
        ends_with_token=conf.consoles.enforce_session_timeout,
    )


def _web(group: cfg.ConfigOpts.GroupAttr) -> dict[str, pathlib.Path]:
    """Return the folders of pages, by URL path."""
    folders = {}
    for option, place in _PAGES.items():
        if group[option]:
            folders[place] = pathlib.Path(group[option])
            if not folders[place].is_dir():
                message = f"[console_proxy] {option} must name a folder: {group[option]!r}"
                raise exception.Invalid(message)
    return folders


def _tls(conf: cfg.ConfigOpts) -> ssl.SSLContext | None:
    files = {name: conf.console_proxy[name] for name in ("certificate_file", "key_file")}
    if not any(files.values()):
        return None
    for name, file in files.items():
        if not pathlib.Path(file or "").is_file():
            raise exception.Invalid(f"[console_proxy] {name} must name a file: {file or ''!r}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(files["certificate_file"], files["key_file"])
    except (OSError, ssl.SSLError) as error:
        raise exception.Invalid(
            f"[console_proxy] certificate_file and key_file do not belong together: {error}"
        ) from error
    return context


def main() -> None:
    _run.run(_options.load(NAME), build, workers=1)
