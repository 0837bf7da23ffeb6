"""What clients need to reach a rig: ``clouds.yaml``, a file for the shell, and lines to try."""

import pathlib
import sys

from roost.rig.client import MICROVERSION
from roost.rig.install import usual
from roost.rig.plan import Plan

CLOUD = "roost-rig"
_INSTALL = "{programs}/pip install python-openstackclient"
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
    compute_api_version: "{microversion}"
    identity_api_version: "3"
"""


def write(plan: Plan) -> None:
    """Write ``clouds.yaml`` and ``openrc`` into the rig's folder."""
    root = plan.endpoint.removesuffix("/v2.1")
    file = clouds_file(plan)
    file.write_text(
        _CLOUDS.format(
            file=file, cloud=CLOUD, root=root, endpoint=plan.endpoint, microversion=MICROVERSION
        )
    )
    (plan.state / "openrc").write_text(
        f"export OS_CLIENT_CONFIG_FILE={file}\nexport OS_CLOUD={CLOUD}\n"
    )


def clouds_file(plan: Plan) -> pathlib.Path:
    return plan.state / "clouds.yaml"


def hints(plan: Plan) -> list[str]:
    """Return the lines that use a rig and end it, to be typed where we are now."""
    programs = _near(pathlib.Path(sys.executable).parent)
    state = _near(plan.state)
    rig = f"{programs}/roost-rig {{}} --state {state}"
    openstack = f"{programs}/openstack"
    install = [] if pathlib.Path(openstack).exists() else [_INSTALL.format(programs=programs)]
    flavor, image = usual(plan)
    return [
        f"curl -s {plan.endpoint}/servers/detail | python3 -m json.tool",
        *install,
        f". {state}/openrc",
        f"{openstack} server list",
        f"{openstack} server create --flavor {flavor} --image {image} --nic auto mine",
        rig.format("status"),
        rig.format("boot -n 20"),
        rig.format("down"),
    ]


def _near(path: pathlib.Path) -> pathlib.Path:
    """Shorten a path that is below the present folder."""
    here = pathlib.Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
