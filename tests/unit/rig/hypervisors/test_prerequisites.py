"""What must be there before a real guest is."""

import subprocess
import sys

import pytest

from roost import exception
from roost.rig.hypervisors import needs


def check(*, without=(), user=0, binding=True):
    needs.check(
        find=lambda name: None if name in without else f"/bin/{name}",
        user=user,
        binding=lambda: binding,
    )


def test_who_is_not_root_is_told_so():
    with pytest.raises(exception.Invalid, match="run this as root"):
        check(user=1000, without=["libvirtd"])


def test_missing_programs_are_told_by_the_packages_they_come_with():
    with pytest.raises(exception.Invalid) as told:
        check(without=["libvirtd", "virtlogd", "qemu-img"])
    assert "apt-get install libvirt-daemon-system qemu-utils;" in told.value.message


def test_a_missing_binding_is_told():
    with pytest.raises(exception.Invalid, match=r"pip install 'roost\[libvirt\]'"):
        check(binding=False)


def test_who_asks_for_no_guest_needs_no_binding():
    code = "import sys; sys.modules['libvirt'] = None; import roost.rig.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
