"""Column types and table options of all revisions, frozen: a revision never changes afterwards.

They are what ``db/types.py`` makes of the models' columns. When those change, a new name joins
here, and the revision that makes the change uses it.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

KEY: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LONG_TEXT: Final = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
UUID: Final = sa.String(36).with_variant(
    mysql.VARCHAR(36, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"
)
TIME: Final = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")

# Any text, and compared as elsewhere: with case. A server's own defaults promise neither.
TABLE: Final[dict[str, Any]] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}
