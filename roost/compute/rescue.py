"""Starting a guest from another image, so that its own disks can be mended; and as usual again."""

from roost import exception
from roost.compute.tasks import Task, step
from roost.compute.virt.driver import RescuesGuests


@step
def rescue(task: Task) -> None:
    """Start the guest from the image that its row names, unless it is."""
    _able(task).rescue(
        task.context,
        task.instance,
        image_path=task.fetch_image(),
        password=task.password,
        kernel=task.fetch_kernel(),
    )


@step
def unrescue(task: Task) -> None:
    _able(task).unrescue(task.uuid)


def _able(task: Task) -> RescuesGuests:
    if not isinstance(task.host.virt, RescuesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot rescue it.")
    return task.host.virt
