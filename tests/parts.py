"""Parts of the soak: modules of tests that ``make test`` leaves out, because they are storms,
soaks, second modes, or real guests and neighbours beyond one story of each.

``make soak`` runs all parts, ``make soak PART=name`` one. Every other module is in the suite;
CONTRIBUTING.rst says who runs which part before landing. Tests of a module in the suite that are a
second mode of it are marked ``soak`` and are the part ``modes``.
"""

from typing import Any, Final

import pytest

MODES: Final = "modes"
SEEDS: Final = "seeds"
STEPS: Final = "steps"
CLIENTS: Final = "clients"

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "chaos": (
        "tests/functional/test_soak.py",
        "tests/integration/test_chaos.py",
        "tests/integration/test_unreliable_bus.py",
        "tests/integration/test_group_races.py",
        "tests/integration/test_scheduler_kills.py",
    ),
    "outages": (
        "tests/integration/test_broker_cluster.py",
        "tests/integration/test_broker_outages.py",
        "tests/integration/test_clock_skew.py",
        "tests/integration/test_failover.py",
        "tests/integration/test_outages.py",
        "tests/integration/test_restored_databases.py",
        "tests/integration/test_unreachable_cell.py",
    ),
    "daemons": (
        "tests/integration/test_distributions.py",
        "tests/integration/test_graceful_shutdown.py",
        "tests/integration/test_private_services.py",
        "tests/integration/test_proxy.py",
        "tests/integration/test_service_group_backends.py",
        "tests/integration/test_service_groups.py",
        "tests/integration/test_tls.py",
    ),
    "guests": (
        "tests/integration/test_bridge_security_groups.py",
        "tests/integration/test_bridges.py",
        "tests/integration/test_consoles.py",
        "tests/integration/test_libvirt_cold_moves.py",
        "tests/integration/test_libvirt_contract.py",
        "tests/integration/test_libvirt_images.py",
        "tests/integration/test_libvirt_interrupted_steps.py",
        "tests/integration/test_libvirt_migration.py",
        "tests/integration/test_libvirt_networks.py",
        "tests/integration/test_libvirt_rig.py",
        "tests/integration/test_locked_memory.py",
        "tests/integration/test_rig_hosts.py",
        "tests/integration/test_vifs.py",
    ),
    "neighbours": (
        "tests/integration/test_glance.py",
        "tests/integration/test_glance_contract.py",
        "tests/integration/test_keystone.py",
        "tests/integration/test_neutron.py",
        "tests/integration/test_nova_schemas.py",
        "tests/integration/test_rig_openstack.py",
        "tests/integration/test_tempest.py",
    ),
}
# Modules of the suite whose other tests are in these parts: what is one story of the real thing.
STORIES: Final = {
    "guests": "tests/integration/test_libvirt_lifecycle.py",
    "neighbours": "tests/integration/test_external_services.py",
}
# So long each may take at most, in minutes; what it takes is in CONTRIBUTING.rst.
MINUTES: Final = {"chaos": 25, "outages": 25, "daemons": 15, "guests": 20, "neighbours": 20}
# Where tests are that have a second mode.
MODES_OF: Final = ("tests/functional", "tests/integration")
IN_PARTS: Final = tuple(module for modules in MODULES.values() for module in modules)
IN_SOME_PART: Final = (*IN_PARTS, *STORIES.values())


def modules_of(part: str) -> tuple[str, ...]:
    """Return all modules that a part runs, whole."""
    return (*MODULES[part], *((STORIES[part],) if part in STORIES else ()))


def second(value: Any) -> Any:
    """Mark a parameter that is a second mode: the suite leaves it to the soak."""
    return pytest.param(value, marks=pytest.mark.soak)
