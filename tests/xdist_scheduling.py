"""Which tests go to which of the processes that run side by side, and in which order.

With ``--dist loadfile`` the tests of a module stay together, for they share what is dear. What
takes longest begins first, so that no process ends long after the others.
"""

from xdist.scheduler import LoadFileScheduling

# Their tests share nothing but what each process makes once, and take minutes: one at a time.
ONE_BY_ONE = (
    "tests/simulated/test_seeds.py",
    "tests/simulated/test_steps.py",
    "tests/simulated/test_operations.py",
)
LONGEST_FIRST = (
    *ONE_BY_ONE,
    "tests/functional/test_rig.py",
    "tests/functional/test_restored_databases.py",
    "tests/functional/api/test_policies.py",
    "tests/functional/api/test_openapi.py",
    "tests/functional/test_callers.py",
    "tests/functional/test_scheduler_filters.py",
    "tests/functional/test_clients.py",
    "tests/functional/test_duplicate_daemons.py",
    "tests/functional/api/test_unscoped_tokens.py",
    "tests/functional/test_boot.py",
    "tests/functional/test_liveness.py",
    "tests/functional/test_consoleproxy.py",
    "tests/functional/test_http_lifecycle.py",
    "tests/integration/test_external_services.py",
    "tests/integration/test_rig.py",
    "tests/integration/test_libvirt_lifecycle.py",
    "tests/integration/test_databases.py",
    "tests/integration/test_daemon_lifecycle.py",
)
_TURNS = {module: turn for turn, module in enumerate(LONGEST_FIRST)}


def module_of(test: str) -> str:
    return test.partition("::")[0]


def turn(test: str) -> int:
    """Return what to sort tests by; those not named above keep their order, and come last."""
    return _TURNS.get(module_of(test), len(_TURNS))


class Scheduling(LoadFileScheduling):
    """Hands out modules, and single tests of those that go one by one."""

    def _split_scope(self, nodeid: str) -> str:
        module = module_of(nodeid)
        return nodeid if module in ONE_BY_ONE else module
