"""What clients need to reach a rig: ``clouds.yaml``, a file for the shell, and lines to try."""

import pathlib

from roost.rig.client import MICROVERSION
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
    """Return the lines that use a rig and end it."""
    return [
        f"curl -s {plan.endpoint}/servers/detail | python3 -m json.tool",
        f". {plan.state}/openrc",
        "openstack server list",
        "openstack server create --flavor m1.tiny --image tiny --nic auto mine",
        f"roost-rig status --state {plan.state}",
        f"roost-rig boot -n 20 --state {plan.state}",
        f"roost-rig down --state {plan.state}",
    ]
