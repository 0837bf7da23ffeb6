"""Which tests go to which of the processes that run side by side, and in which order.

With ``--dist loadfile`` the tests of a module stay together, for they share what is dear. What
takes longest begins first, so that no process ends long after the others.
"""

from xdist.scheduler import LoadFileScheduling

# Their tests share nothing but what each process makes once, and take minutes: one at a time.
ONE_BY_ONE = (
    "tests/simulated/test_seeds.py",
    "tests/simulated/test_steps.py",
)
LONGEST_FIRST = (
    *ONE_BY_ONE,
    "tests/functional/api/test_openapi.py",
    "tests/functional/test_clients.py",
    "tests/functional/test_rig.py",
    "tests/functional/api/test_policies.py",
    "tests/functional/test_rig_chaos.py",
    "tests/functional/test_liveness.py",
    "tests/functional/test_rpc_fuzz.py",
    "tests/functional/test_http_lifecycle.py",
    "tests/integration/test_rig_openstack.py",
    "tests/integration/test_external_services.py",
    "tests/integration/test_neutron.py",
    "tests/integration/test_keystone.py",
    "tests/integration/test_tempest.py",
    "tests/integration/test_group_races.py",
    "tests/integration/test_libvirt_contract.py",
    "tests/integration/test_libvirt_migration.py",
    "tests/integration/test_libvirt_networks.py",
    "tests/integration/test_libvirt_rig.py",
    "tests/integration/test_libvirt_lifecycle.py",
    "tests/integration/test_libvirt_interrupted_steps.py",
    "tests/integration/test_consoles.py",
    "tests/integration/test_restored_databases.py",
    "tests/integration/test_boot.py",
    "tests/integration/test_liveness.py",
    "tests/integration/test_under_eventlet.py",
    "tests/integration/test_unreachable_cell.py",
    "tests/integration/test_unreliable_bus.py",
    "tests/integration/test_outages.py",
    "tests/integration/test_broker_outages.py",
    "tests/integration/test_chaos.py",
    "tests/integration/test_duplicate_daemons.py",
    "tests/integration/test_rig.py",
    "tests/integration/test_tls.py",
    "tests/integration/test_scheduler_kills.py",
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
