"""The parts of the tiny Linux that are put together without its packages."""

from roost.rig.hypervisors import linux_guest


def module(root, name, needs=""):
    path = root / "lib/modules/6.1/kernel" / f"{name}.ko"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0license=GPL\0depends=" + needs.encode() + b"\0name=x\0")


def test_modules_come_after_those_that_they_need(tmp_path):
    module(tmp_path, "virtio_net", "net_failover,virtio")
    module(tmp_path, "net-failover", "failover")
    for name in ("failover", "virtio", "nobody-asked-for-it"):
        module(tmp_path, name)
    order = [path.stem for path in linux_guest._in_order(tmp_path)]
    assert order == ["failover", "net-failover", "virtio", "virtio_net"]


def test_a_disk_that_is_there_is_not_made_again(tmp_path, monkeypatch):
    made = []

    def make(work, disk):
        made.append(disk)
        disk.touch()

    monkeypatch.setattr(linux_guest, "_make", make)
    first = linux_guest.made(tmp_path)
    assert (linux_guest.made(tmp_path), made) == (first, [first])
