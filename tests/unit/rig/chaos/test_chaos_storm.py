"""The clients of a chaos run: a patient client looks again, whatever it was shown."""

import time

from roost.rig import boots
from roost.rig.chaos import storm
from roost.rig.chaos.wishes import STAY, StormRequest

PATIENCE = 10  # seconds
UUID = "11111111-2222-4333-8444-555555555555"


class PlayedClient:
    """Boots one server, and shows it as the list says, one after the other; then the last one."""

    def __init__(self, shown):
        self._shown = list(shown)
        self.acted = []

    def post(self, path, body):
        return {"server": {"id": UUID}}

    def servers(self):
        return [{"id": UUID, "name": "one", "status": "ACTIVE"}]

    def act(self, uuid, action):
        self.acted.append(*action)

    def server(self, uuid):
        return self._shown.pop(0) if len(self._shown) > 1 else self._shown[0]


def at_rest(status):
    return {"status": status, "OS-EXT-STS:task_state": None}


def test_a_server_of_a_silent_cell_is_looked_at_again():
    client = PlayedClient([{"status": "UNKNOWN"}, at_rest("SUSPENDED"), at_rest("ACTIVE")])
    request = StormRequest(0.0, "one", 1, "", STAY, 0.0, life=("suspend", "resume"))
    prototype = boots.BootRequest(flavor="1", image="image", networks="none")
    clients = storm.Storm(client, [request], prototype, larger="2", pause=0.01)
    clients.start()
    deadline = time.monotonic() + PATIENCE
    while not any(one.acted for one in clients.register.all()) and time.monotonic() < deadline:
        time.sleep(0.01)
    clients.close()
    assert client.acted == ["suspend", "resume"]
