"""PostgreSQL, found or started."""

import pathlib
import signal
from typing import Self

from roost.rig.services.databases import DatabaseServer, private_address
from roost.rig.services.private import LOOPBACK, Private, ServiceAddress, free_port, program

_FOLDER = "/usr/lib/postgresql/*/bin"
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "1000",  # rigs have many daemons
    "fsync": "off",  # nothing here outlives the machine
}


class PostgreSQL(DatabaseServer):
    """A PostgreSQL server; we come as its superuser."""

    kind = "postgresql"
    driver = "postgresql+psycopg"
    usual = ServiceAddress(LOOPBACK, 5432, "postgres")
    own_database = "postgres"
    create = "CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0"
    drop = 'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'
    may_allow = (
        "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolcreaterole)"
    )
    make_user = (
        'DO $$ BEGIN CREATE ROLE "{name}"; EXCEPTION WHEN duplicate_object THEN NULL; END $$',
        "ALTER ROLE \"{name}\" LOGIN PASSWORD '{password}'",
    )
    remove_user = 'DROP ROLE IF EXISTS "{name}"'
    close = (
        'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC',
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    allow = (
        'GRANT CONNECT ON DATABASE "{name}" TO "{user}"',
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA public"
            ' GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO "{user}"'
        ),
        'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO "{user}"',
    )

    @classmethod
    def start(cls, state_dir: pathlib.Path, *options: str) -> Self:
        initdb = program("initdb", _FOLDER, package="postgresql")
        postgres = program("postgres", _FOLDER, package="postgresql")
        private = Private(cls.kind, state_dir, account="postgres")
        if not private.running():
            # SIGINT ends sessions that are open, SIGTERM would wait for them
            folder = private.make_folder(port=free_port(), stop_signal=signal.SIGINT)
            data = str(folder / "data")
            make = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
            private.run([initdb, f"--pgdata={data}", "--no-sync", *make])
            settings = {**_SETTINGS, "port": str(private.details["port"])}
            own = [f"--{name}={value}" for name, value in settings.items()]
            private.spawn([postgres, "-D", data, *own, *options])
        server = cls(private_address(private, "postgres"), private)
        private.wait_until(server.check, seconds=60)
        return server
