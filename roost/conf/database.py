"""The URLs of the three kinds of database. A daemon connects only to those it needs."""

from oslo_config import cfg

_HELP = (
    "The %s database, as an SQLAlchemy URL: postgresql+psycopg://user:password@host/name,"
    " mysql+pymysql://user:password@host/name or sqlite:////path."
)


def _connection(whose: str) -> list[cfg.Opt]:
    return [cfg.StrOpt("connection", secret=True, help=_HELP % whose)]


GROUPS = [
    ("api_database", _connection("API-level")),
    ("cell_database", _connection("cell's own")),
    ("scheduler_database", _connection("scheduler's own")),
]
