"""An OpenStack service that a test starts and ends."""

import subprocess

import requests

from roost.rig.openstack import services
from tests.stories.cloud import wait_until


class Process:
    """It may be stopped and started again, on the same port.

    :param installed: the folder of ``roost.rig.openstack.packages``
    :param folder: as ``roost.rig.openstack.services`` prepares it; what it says is in ``log`` there
    """

    def __init__(self, installed, name, port, folder):
        self._command = services.command(installed, name, port, folder)
        self._url = f"http://127.0.0.1:{port}"
        self._log = folder / "log"
        self._name = name
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        try:
            wait_until(self._answers, f"{self._name} answers", timeout=120)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def log(self):
        return self._log.read_text()

    def _answers(self):
        assert self._process.poll() is None, self.log[-5000:]
        try:
            requests.get(self._url, timeout=30)
        except requests.RequestException:
            return False
        return True
