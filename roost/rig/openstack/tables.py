"""Make Neutron's tables: ``python -I tables.py URL``. Its migrations do not run on SQLite."""

import sys

import sqlalchemy
from neutron.db.migration.models import head

if __name__ == "__main__":
    head.get_metadata().create_all(sqlalchemy.create_engine(sys.argv[1]))
