"""What clients need to reach a rig: ``clouds.yaml``, a file for the shell, and lines to try."""

import pathlib
import sys

from roost.rig.client import MICROVERSION
from roost.rig.files import write_secret
from roost.rig.install import usual
from roost.rig.openstack.contents import PUBLIC
from roost.rig.openstack.plan import ADMIN, KEYSTONE, MEMBER, NEUTRON, REGION
from roost.rig.plan import Plan

CLOUD = "roost-rig"
_CLOUDS = """\
# For openstack and openstacksdk: OS_CLIENT_CONFIG_FILE={file} openstack --os-cloud {cloud} ...
clouds:
  {cloud}:
    auth_type: none
    auth:
      endpoint: {root}
    compute_endpoint_override: {endpoint}
    image_endpoint_override: {root}/image
    network_endpoint_override: {root}/network
    placement_endpoint_override: {root}/placement
    compute_api_version: "{microversion}"
    identity_api_version: "3"
"""


_OPENRC = """\
unset OS_CLOUD OS_CLIENT_CONFIG_FILE OS_TOKEN OS_AUTH_TYPE
export OS_AUTH_URL={url}
export OS_USERNAME={user}
export OS_PASSWORD={password}
export OS_PROJECT_NAME={project}
export OS_USER_DOMAIN_ID=default
export OS_PROJECT_DOMAIN_ID=default
export OS_REGION_NAME={region}
export OS_IDENTITY_API_VERSION=3
export OS_COMPUTE_API_VERSION={microversion}
"""
_TOLD_BY_KEYSTONE = """\
  {cloud}:
    auth:
      auth_url: {url}
      username: {user}
      password: {password}
      project_name: {project}
      user_domain_id: default
      project_domain_id: default
    region_name: {region}
    compute_api_version: "{microversion}"
    identity_api_version: "3"
"""
_ADMIN = "admin"  # at the end of names


def write(plan: Plan) -> None:
    """Write ``clouds.yaml`` and files for the shell into the rig's folder.

    Where the API judges tokens of a Keystone which is not the rig's there are none: who people are,
    and where all is, only that Keystone knows.
    """
    if plan.openstack:
        _write_people(plan)
    elif not _asks_others(plan):
        _write_endpoints(plan)


def _asks_others(plan: Plan) -> bool:
    """Tell whether the API judges tokens of a Keystone that is not the rig's."""
    return not plan.openstack and plan.find("api").options["api"]["auth_strategy"] == KEYSTONE


def _write_endpoints(plan: Plan) -> None:
    root, file = plan.endpoint.removesuffix("/v2.1"), clouds_file(plan)
    file.write_text(
        _CLOUDS.format(
            file=file, cloud=CLOUD, root=root, endpoint=plan.endpoint, microversion=MICROVERSION
        )
    )
    (plan.state / "openrc").write_text(
        f"export OS_CLIENT_CONFIG_FILE={file}\nexport OS_CLOUD={CLOUD}\n"
    )


def _write_people(plan: Plan) -> None:
    """Write what a member and the administrator know: a name, a password, where Keystone is."""
    clouds = "clouds:\n"
    for user, file, cloud in (
        (MEMBER, "openrc", CLOUD),
        (ADMIN, f"openrc-{_ADMIN}", f"{CLOUD}-{_ADMIN}"),
    ):
        known = {
            "url": plan.openstack.identity,
            "user": user,
            "password": plan.openstack.passwords[user],
            "project": user,
            "region": REGION,
            "microversion": MICROVERSION,
        }
        clouds += _TOLD_BY_KEYSTONE.format(cloud=cloud, **known)
        write_secret(plan.state / file, _OPENRC.format(**known))
    write_secret(clouds_file(plan), clouds)


def clouds_file(plan: Plan) -> pathlib.Path:
    return plan.state / "clouds.yaml"


def hints(plan: Plan) -> list[str]:
    """Return the lines that use a rig and end it, to be typed where we are now."""
    programs = _near(pathlib.Path(sys.executable).parent)
    state = _near(plan.state)
    rig = f"{programs}/roost-rig {{}} --state {state}"
    if plan.openstack:
        how = [*_install(programs), *_people(plan, programs, state), rig.format("boot -n 20")]
    elif _asks_others(plan):
        how = []
    else:
        curl = f"curl -s {plan.endpoint}/servers/detail | python3 -m json.tool"
        openrc = f". {state}/openrc"
        how = [curl, *_install(programs), openrc, *_servers(plan, programs)]
        how.append(rig.format("boot -n 20"))
    return [*how, rig.format("status"), rig.format("down")]


def _install(programs: pathlib.Path) -> list[str]:
    there = pathlib.Path(programs, "openstack").exists()
    return [] if there else [f"{programs}/pip install python-openstackclient"]


def _servers(plan: Plan, programs: pathlib.Path) -> list[str]:
    flavor, image = usual(plan)
    return [
        f"{programs}/openstack server list",
        f"{programs}/openstack server create --flavor {flavor} --image {image} --nic auto mine",
    ]


def _people(plan: Plan, programs: pathlib.Path, state: pathlib.Path) -> list[str]:
    floating = [f"{programs}/openstack floating ip create {PUBLIC}"]
    return [
        f". {state}/openrc{' ' * len(_ADMIN)}   # {MEMBER}, a member of the project {MEMBER}",
        *_servers(plan, programs),
        *(floating if plan.openstack.has(NEUTRON) else []),
        f". {state}/openrc-{_ADMIN}   # the administrator",
        f"{programs}/openstack compute service list",
    ]


def _near(path: pathlib.Path) -> pathlib.Path:
    """Shorten a path that is below the present folder."""
    here = pathlib.Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
