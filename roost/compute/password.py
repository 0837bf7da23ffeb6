"""The password of a guest's administrator, as far as its hypervisor can have it changed."""

from roost import exception
from roost.compute.tasks import Task, step
from roost.compute.virt.driver import SetsPasswords


@step
def set_password(task: Task) -> None:
    virt = task.host.virt
    if not isinstance(virt, SetsPasswords):
        raise exception.Unsupported("The hypervisor of this server cannot set its password.")
    if task.password is None:
        raise exception.Conflict("The password did not reach the server: set it again.")
    virt.set_password(task.uuid, task.password)
