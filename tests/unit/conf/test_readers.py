"""No option is offered that nobody reads: each has a reader in a module that knows its group."""

import ast
import functools
import pathlib

import pytest

import roost
from roost import conf

# What passes options on, rather than reading them.
PASSING = ("conf/", "rig/")
# Who is handed a group, and does not name it.
HANDED = {
    **dict.fromkeys(("api_database", "cell_database", "scheduler_database"), "cmd/"),
    **dict.fromkeys(("service_user", "glance", "neutron", "vendordata_dynamic_auth"), "external/"),
    "scheduler": "scheduler/",
    "console_proxy": "cmd/consoleproxy.py",
    "quota": "api/compute/quota_resources.py",
}
OF_KEYSTONEAUTH = ("auth_type", "auth_section")  # it finds out by them who we are
OURS = [
    pytest.param(group, option.dest, id=f"{group}-{option.dest}")
    for group, options in conf.own_opts()
    for option in options
    if option.dest not in OF_KEYSTONEAUTH
]


@functools.cache
def _words():
    """Return the attributes and texts of each module, by its path."""
    room = pathlib.Path(roost.__file__).parent
    return {
        path.relative_to(room).as_posix(): {*map(_word, ast.walk(ast.parse(path.read_text())))}
        for path in room.rglob("*.py")
    }


def _word(node):
    match node:
        case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
    return None


@pytest.mark.parametrize(("group", "option"), OURS)
def test_an_option_has_a_reader(group, option):
    knowing = [
        words
        for path, words in _words().items()
        if not path.startswith(PASSING)
        and (group in ("DEFAULT", *words) or path.startswith(HANDED.get(group, "-")))
    ]
    assert any(option in words for words in knowing)
