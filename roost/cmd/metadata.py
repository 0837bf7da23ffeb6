"""roost-metadata: the metadata service of guests. Any number serve, behind a load balancer."""

from roost import concurrency

concurrency.select()

from collections.abc import Mapping
from typing import Any, Final

from oslo_config import cfg

from roost import exception, migrations, networks
from roost.api import admission
from roost.cells import Cells
from roost.cmd import _checks, _database, _http, _options, _parts, _run
from roost.cmd._daemon import Daemon
from roost.metadata import identity
from roost.metadata.app import make_app
from roost.metadata.guests import Guests

NAME = "roost-metadata"
_SHARE: Final = 0.125  # of all slots that one guest may have


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble the service; it serves in this process."""
    database = _database.configured(conf, "api_database")
    cells = _parts.cells(conf, database)
    options = conf.metadata
    guests = Guests(
        database,
        cells,
        operator=_parts.operator(conf),
        vendors=_parts.vendors(conf),
        seconds=options.cache_seconds,
    )
    app = admission.Admission(
        make_app(guests, _identity(conf, cells)),
        at_once=options.threads,
        waiting=options.max_waiting,
        share=_SHARE,
        callers=_Guests(),
    )
    server = _http.in_process(
        app,
        host=str(options.listen),
        port=options.port,
        threads=admission.threads(options.threads, options.max_waiting),
    )
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.API)],
        servers=[server],
        closing=[cells, database],
    )


def _identity(conf: cfg.ConfigOpts, cells: Cells) -> identity.CallerIdentity:
    if conf.metadata.identify == "address":
        known = [network.id for network in networks.parse(conf.network.local_networks)]
        host = conf.metadata.host or conf.host
        return identity.ByAddress(cells, host=host, networks=known)
    if not conf.metadata.shared_secret:
        raise exception.Invalid(
            "[metadata] shared_secret must be set: Neutron's metadata agent signs with it"
        )
    return identity.BySignature(conf.metadata.shared_secret)


class _Guests:
    """Identifies guests for admission, by the agent's headers or the address."""

    def caller(self, environ: Mapping[str, Any]) -> str:
        return str(environ.get(identity.INSTANCE) or environ.get("REMOTE_ADDR"))

    identify = caller


def main() -> None:
    _run.run(_options.load(NAME), build, workers=1)
