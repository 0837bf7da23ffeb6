"""What clients and tools look for in messages, because their users are to be told more of it.

These texts are as the references and guides of the APIs show them; the rest of a message is ours.
That a server found no host begins with ``NO_VALID_HOST``: test_explain.py shows that.
"""

import pytest

from roost import exception, states
from roost.api.dependencies import ApiOptions
from tests import api_harness
from tests.api_harness import ALICE, IMAGE
from tests.builders import CELL1

NOBODY = "dddddddd-dddd-4ddd-8ddd-dddddddddddd"
SERVER = {"name": "web", "flavorRef": "1", "imageRef": IMAGE}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ApiOptions(quota=api_harness.UNLIMITED | {"instances": 0, "key_pairs": 0})
    with api_harness.made_in(tmp_path_factory.mktemp("world"), options) as world:
        yield world


@pytest.fixture(scope="module")
def servers(world):
    """Servers that refuse what is asked of them, each by what it is."""
    usual = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}
    said = {
        "stopped": {"vm_state": states.STOPPED},
        "busy": {"task_state": states.POWERING_OFF},
        "locked": {"locked": True, "locked_by": "admin"},
    }
    return {name: world.place(CELL1, **usual | how).uuid for name, how in said.items()}


def test_no_host():
    assert exception.NO_VALID_HOST == "No valid host was found. "


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", f"/servers/{NOBODY}", None, f"Instance {NOBODY} could not be found."),
        ("GET", f"/flavors/{NOBODY}", None, f"Flavor {NOBODY} could not be found."),
        ("GET", "/os-keypairs/none", None, "Keypair none not found for user alice"),
        (
            *("POST", "/flavors", {"flavor": {"name": "a", "ram": 1, "vcpus": 1, "disk": 1}}),
            "Policy doesn't allow os_compute_api:os-flavor-manage:create to be performed.",
        ),
        (
            *("POST", "/servers", {"server": SERVER}),
            "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances",
        ),
        (
            *("POST", "/servers", {"server": {**SERVER, "imageRef": NOBODY}}),
            "Can not find requested image",
        ),
        (
            *("POST", "/servers", {"server": {**SERVER, "key_name": "none"}}),
            "Invalid key_name provided.",
        ),
        (
            *("POST", "/os-keypairs", {"keypair": {"name": "mine"}}),
            "Quota exceeded, too many key pairs.",
        ),
        (
            *("POST", "/servers/stopped/action", {"pause": None}),
            "Cannot 'pause' instance {server} while it is in vm_state stopped",
        ),
        (
            *("POST", "/servers/busy/action", {"reboot": {"type": "SOFT"}}),
            "Cannot 'reboot' instance {server} while it is in task_state powering-off",
        ),
        ("POST", "/servers/locked/action", {"pause": None}, "Instance {server} is locked"),
        (
            *("POST", "/servers/stopped/os-interface"),
            *(
                {"interfaceAttachment": {"port_id": NOBODY}},
                f"Port id {NOBODY} could not be found.",
            ),
        ),
    ],
)
def test_what_was_refused(world, servers, method, path, body, text):
    of = path.removeprefix("/servers/").partition("/")[0]
    server = servers.get(of, "")
    more = {} if body is None else {"json": body}
    where = f"/v2.1{path.replace(of, server, 1)}" if server else f"/v2.1{path}"
    answer = world.client.ask(method, where, token=ALICE, **more)
    (fault,) = answer.json.values()
    assert text.format(server=server) in fault["message"]
