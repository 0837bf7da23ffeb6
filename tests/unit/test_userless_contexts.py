"""Who acts without a user is listed, with the reason.

A user's request is done in the user's name, and what is gone on with later in the project's
(``project_context``). What has neither is an administrator to all who are asked: only what is about
hosts, cells and their rows, never about what a user may have, see or read.
"""

import ast
import pathlib

TOP = pathlib.Path(__file__).parents[2] / "roost"
MAKER = "admin_context"
_ITSELF = "a daemon says or asks something about itself"
_ITS_HOST = "a host asks its own cell about its own instances"
_OPERATOR = "an operator's command"
_RIG = "a test rig's own clouds"
ALLOWED = {
    "audit/collector.py": "the audit compares all books and all hosts",
    "audit/executor.py": "the audit mends what no user's request is to be seen in any more",
    "cells/security_groups.py": "tells hosts that security groups changed: they ask by themselves",
    "cmd/cell_conductor.py": _ITSELF,
    "cmd/manage/cell.py": _OPERATOR,
    "cmd/manage/deployment.py": _OPERATOR,
    "cmd/manage/host.py": _OPERATOR,
    "cmd/manage/host_removal.py": _OPERATOR,
    "cmd/manage/image.py": _OPERATOR,
    "cmd/manage/placement_explain.py": _OPERATOR,
    "cmd/manage/placement_inventory.py": _OPERATOR,
    "cmd/manage/placement_lists.py": _OPERATOR,
    "cmd/manage/placement_request.py": _OPERATOR,
    "compute/leases.py": _ITS_HOST,
    "compute/manager.py": _ITS_HOST,
    "compute/network/bridge/driver.py": _ITS_HOST,
    "compute/network/bridge/filters.py": _ITS_HOST,
    "compute/external_events.py": _ITS_HOST,
    "compute/reconcile.py": _ITS_HOST,
    "conductor/cell/liveness.py": _ITSELF,
    "conductor/cell/report_parts.py": "asks what all schedulers read of hosts",
    "conductor/super/scheduler_sync.py": "tells schedulers of all aggregates and server groups",
    "rig/embedded.py": _RIG,
    "rig/health.py": _RIG,
    "rig/hypervisors/hosts.py": _RIG,
    "rig/install.py": _RIG,
    "rpc/transport.py": "a bus is asked whether it is there",
    "scheduler/client.py": _ITSELF,
    "scheduler/publishing.py": "tells of hosts, which are no user's",
}


def acts_without_user(tree):
    """Tell whether a module names what makes such a context, or makes an administrator itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(each.name == MAKER for each in node.names):
            return True
        if isinstance(node, ast.Attribute) and node.attr == MAKER:
            return True
        if isinstance(node, ast.keyword) and node.arg == "is_admin" and _is_true(node.value):
            return True
    return False


def _is_true(node):
    return isinstance(node, ast.Constant) and node.value is True


def test_what_acts_without_a_user_is_seen():
    def seen(text):
        return acts_without_user(ast.parse(text))

    assert seen("from roost.context import RequestContext, admin_context")
    assert seen("from roost.context import admin_context as whoever")
    assert seen("context.admin_context()")
    assert seen("RequestContext(is_admin=True)")
    assert not seen("project_context('a'); RequestContext(is_admin=False)  # admin_context()")


def test_whoever_acts_without_a_user_is_listed_with_a_reason():
    found = {
        str(path.relative_to(TOP))
        for path in TOP.rglob("*.py")
        if acts_without_user(ast.parse(path.read_text()))
    }
    assert found - {"context.py"} == set(ALLOWED)


def test_no_request_of_a_user_is_done_as_an_administrator():
    assert not any(path.startswith(("api/", "metadata/", "consoleproxy/")) for path in ALLOWED)
