"""MariaDB, found or started."""

import pathlib
from typing import Self

from roost.rig.services.databases import DatabaseServer, private_address
from roost.rig.services.private import LOOPBACK, Private, ServiceAddress, free_port, program

_SETTINGS = [
    f"--bind-address={LOOPBACK}",
    "--max-connections=1000",  # rigs have many daemons
    "--skip-name-resolve",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=2",  # nothing here outlives the machine
]


class MariaDB(DatabaseServer):
    """A MariaDB server; we come as root."""

    kind = "mariadb"
    driver = "mysql+pymysql"
    usual = ServiceAddress(LOOPBACK, 3306, "root")
    own_database = "mysql"
    create = "CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    drop = "DROP DATABASE IF EXISTS `{name}`"
    may_allow = (
        "SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'CREATE USER'"
        " AND is_grantable = 'YES'"
        " AND REPLACE(grantee, '\\'', '') = CURRENT_USER()"
    )
    make_user = (
        "CREATE USER IF NOT EXISTS '{name}'@'%'",
        "ALTER USER '{name}'@'%' IDENTIFIED BY '{password}'",
    )
    remove_user = "DROP USER IF EXISTS '{name}'@'%'"
    close = ()
    allow = ("GRANT SELECT, INSERT, UPDATE, DELETE ON `{pattern}`.* TO '{user}'@'%'",)

    @classmethod
    def start(cls, state_dir: pathlib.Path, *options: str) -> Self:
        install = program("mariadb-install-db", package="mariadb-server")
        mariadbd = program("mariadbd", package="mariadb-server")
        private = Private(cls.kind, state_dir, account="mysql")
        if not private.running():
            folder = private.make_folder(port=free_port())
            data = f"--datadir={folder / 'data'}"
            make = ["--auth-root-authentication-method=normal", "--skip-test-db"]
            private.run([install, "--no-defaults", data, *make])
            own = [
                f"--port={private.details['port']}",
                f"--socket={folder / 'socket'}",
                f"--pid-file={folder / 'pid'}",
            ]
            private.spawn([mariadbd, "--no-defaults", data, *own, *_SETTINGS, *options])
        server = cls(private_address(private, "root"), private)
        private.wait_until(server.check, seconds=60)
        return server
