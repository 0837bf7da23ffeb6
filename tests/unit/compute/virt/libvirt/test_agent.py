"""What a guest's own agent is asked for, and what follows when it is silent."""

import libvirt
import pytest

from roost import exception
from roost.compute.virt.libvirt import agent
from roost.compute.virt.libvirt.identity import GuestIdentity
from tests.stories.libvirt_domains import UUID, a_domain, a_hardware

AGENT = {"hw_qemu_guest_agent": "yes"}


class AgentError(libvirt.libvirtError):
    """What the binding raises when an agent does not answer."""

    def __init__(self):
        super().__init__("Guest agent is not responding")

    def get_error_code(self):
        return libvirt.VIR_ERR_AGENT_UNRESPONSIVE


class Domain:
    """A guest in libvirt's hands, which writes down what is done to it."""

    def __init__(self, properties, *, state=libvirt.VIR_DOMAIN_RUNNING, silent=()):
        notes = agent.notes_of(a_hardware({}, properties))
        self._xml = a_domain(identity=GuestIdentity(UUID, 1, notes=notes)).xml()
        self._state, self._silent = state, silent
        self.done = []

    def XMLDesc(self, _flags=0):  # noqa: N802 - the binding's name
        return self._xml

    def UUIDString(self):  # noqa: N802 - the binding's name
        return UUID

    def state(self):
        return self._state, 1

    def isActive(self):  # noqa: N802 - the binding's name
        return self._state != libvirt.VIR_DOMAIN_SHUTOFF

    def hasManagedSaveImage(self):  # noqa: N802 - the binding's name
        return False

    def agentSetResponseTimeout(self, seconds):  # noqa: N802 - the binding's name
        assert seconds > 0

    def setUserPassword(self, user, password):  # noqa: N802 - the binding's name
        self._do("password", user, password)

    def fsFreeze(self):  # noqa: N802 - the binding's name
        self._do("freeze")

    def fsThaw(self):  # noqa: N802 - the binding's name
        self._do("thaw")

    def blockJobInfo(self, _device):  # noqa: N802 - the binding's name
        return {"type": 2}

    def blockJobAbort(self, device):  # noqa: N802 - the binding's name
        self._do("copied", device)

    def _do(self, *what):
        self.done.append(what)
        if what[0] in self._silent:
            raise AgentError


@pytest.mark.parametrize(
    ("properties", "admin"),
    [
        ({}, "root"),
        ({"os_type": "windows"}, "Administrator"),
        ({"os_type": "windows", "os_admin_user": "boss"}, "boss"),
    ],
)
def test_a_password_is_the_administrators(properties, admin):
    domain = Domain(AGENT | properties)
    agent.set_password(domain, "secret")
    assert domain.done == [("password", admin, "secret")]


@pytest.mark.parametrize(
    ("domain", "why"),
    [
        (Domain({}), "hw_qemu_guest_agent=yes"),
        (Domain(AGENT, state=libvirt.VIR_DOMAIN_SHUTOFF), "does not run"),
        (Domain(AGENT, silent=["password"]), "failed the request"),
    ],
)
def test_where_nobody_is_to_ask_the_password_stays(domain, why):
    with pytest.raises(exception.Conflict, match=why):
        agent.set_password(domain, "secret")


def test_a_guest_gets_as_long_to_end_as_its_image_says_or_else_its_host():
    assert agent.shutdown_seconds(Domain({"os_shutdown_timeout": "7"}), 60) == 7
    assert agent.shutdown_seconds(Domain({}), 60) == 60


def test_a_copy_is_of_a_moment_at_which_the_guest_has_written_everything():
    domain = Domain(AGENT)
    agent.end_copy_quietly(domain, "vda")
    assert domain.done == [("freeze",), ("copied", "vda"), ("thaw",)]


@pytest.mark.parametrize(
    "domain",
    [Domain({}), Domain(AGENT, state=libvirt.VIR_DOMAIN_PAUSED)],
)
def test_a_guest_that_cannot_be_asked_is_copied_as_it_is(domain):
    agent.end_copy_quietly(domain, "vda")
    assert domain.done == [("copied", "vda")]


def test_an_agent_that_is_silent_ends_frozen_for_nobody():
    domain = Domain(AGENT, silent=["freeze"])
    agent.end_copy_quietly(domain, "vda")
    assert domain.done == [("freeze",), ("thaw",), ("copied", "vda")]


@pytest.mark.parametrize(
    ("properties", "values"),
    [
        (AGENT, {"silent": ["freeze"]}),
        (AGENT, {"state": libvirt.VIR_DOMAIN_PAUSED}),
        ({}, {}),
    ],
)
def test_a_copy_that_must_be_quiet_is_not_taken_otherwise(properties, values):
    domain = Domain(properties | {"os_require_quiesce": "yes"}, **values)
    with pytest.raises(exception.Conflict):
        agent.end_copy_quietly(domain, "vda")
    assert ("copied", "vda") not in domain.done
