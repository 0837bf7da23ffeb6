"""The OpenStack services of one rig: prepared, started among its daemons, filled."""

import pathlib
from collections.abc import Callable

from roost.rig.install import IMAGE
from roost.rig.openstack import contents, packages, services
from roost.rig.openstack.plan import ADMIN, GLANCE, KEYSTONE, NEUTRON
from roost.rig.plan import Plan
from roost.rig.processes import Program


def prepare(plan: Plan) -> None:
    """Make the folder of each service, whose packages are installed if they are not there.

    :raises roost.exception.Unavailable: when they cannot be installed
    """
    installed, openstack = packages.install(plan.cache), plan.openstack
    _prepare_keystone(plan, installed)
    if openstack.has(GLANCE):
        services.prepare_glance(installed, _folder(plan, GLANCE), openstack.judging(GLANCE))
    if openstack.has(NEUTRON):
        services.prepare_neutron(
            installed,
            _folder(plan, NEUTRON),
            judging=openstack.judging(NEUTRON),
            compute=openstack.credentials(NEUTRON),
        )


def _prepare_keystone(plan: Plan, installed: pathlib.Path) -> None:
    """Let nobody find an administrator in there whose password everybody knows."""
    folder, password = _folder(plan, KEYSTONE), plan.openstack.passwords[ADMIN]
    services.prepare_keystone(installed, folder)
    packages.bootstrap(installed, folder / "keystone.conf", password, log=plan.log_file(KEYSTONE))


def programs(plan: Plan) -> list[Program]:
    """Return what runs, in the order of its start."""
    if not plan.openstack:
        return []
    installed = packages.installation(plan.cache)
    return [
        Program(
            name,
            services.command(installed, name, plan.openstack.ports[name], _folder(plan, name)),
            plan.log_file(name),
        )
        for name in plan.openstack.names
    ]


def fill(plan: Plan, wait_for: Callable[[str], object]) -> None:
    """Make people, a catalog, an image and networks in services that were just started.

    :param wait_for: returns when the service that it is given answers
    """
    openstack = plan.openstack
    wait_for(KEYSTONE)
    contents.fill_identity(openstack, plan.endpoint)
    if openstack.has(GLANCE):
        wait_for(GLANCE)
        contents.add_image(contents.admin_session(openstack), openstack.url(GLANCE), IMAGE)
    if openstack.has(NEUTRON):
        wait_for(NEUTRON)
        contents.fill_neutron(openstack)


def _folder(plan: Plan, name: str) -> pathlib.Path:
    return plan.state / name
