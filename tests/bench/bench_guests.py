"""What real guests cost a host of libvirt: seconds to the first line, and what its daemon takes.

    python -m tests.bench.bench_guests                  # all of it, briefly
    python -m tests.bench.bench_guests linux -n 20      # from the request to what a Linux says
    python -m tests.bench.bench_guests daemon -n 100    # memory and CPU of roost-compute
    python -m tests.bench.bench_guests images --mib 500 # an image that a host has, and has not

Guests have an emulated CPU, so their seconds say little of what they take elsewhere. It starts what
it needs (as the integration tests do, so as root), and leaves nothing.
"""

import argparse
import contextlib
import dataclasses
import io
import os
import pathlib
import tempfile
import threading
import time

import psutil

from roost import concurrency

concurrency.select([])

from roost.compute.image_cache import ImageCache
from roost.compute.virt.libvirt import images, probe
from roost.compute.virt.libvirt.base_images import BaseImages
from roost.context import admin_context
from roost.image.local import LocalImageStore
from roost.rig import services
from roost.rig.embedded import EmbeddedRig
from roost.rig.hypervisors import linux_guest
from tests.bench.meters import load, percentile, table
from tests.fakes.libvirtd import Libvirtd
from tests.stories.cloud import Cloud, wait_until
from tests.stories.real_guests import BOOTED, cloud_of, console
from tests.stories.real_rig import running

SERVICES = pathlib.Path(".services").resolve()
MIB = 1 << 20
HOST = "cell1-host1"
IDLE = 10.0  # seconds that a daemon is watched while nothing is asked of it


def main():
    asked = _arguments()
    print(f"{os.cpu_count()} cores, load {load():.1f}, guests by TCG")
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        path = pathlib.Path(folder)
        if asked.what in ("linux", "all"):
            _linux(path / "linux", asked.count or 5)
        if asked.what in ("daemon", "all"):
            rows = [_daemon(path / "fake", asked.count or 100, real=False)]
            rows.append(_daemon(path / "libvirt", asked.count or 20, real=True))
            table("roost-compute (guests that start no system)", rows)
        if asked.what in ("images", "all"):
            _images(path / "images", asked.mib)


def _linux(folder, count):
    """Boot servers one after the other, each until its guest is up."""
    image = linux_guest.made(SERVICES / "external/guest")
    with Libvirtd(folder / "libvirtd", SERVICES / "libvirt") as libvirtd:
        options = _libvirt_options(libvirtd)
        rig = EmbeddedRig(folder / "rig", cells=1, hosts=1, overrides=options)
        with cloud_of(rig, libvirtd, image) as cloud:
            times = [_boot(cloud) for _ in range(count)]
    rows = [
        {"until": what, "first": round(times[0][at], 2), "p50": round(p50(times, at), 2)}
        for at, what in enumerate(("accepted", "ACTIVE", "guest's first line", "guest is ready"))
    ]
    table(f"seconds from the request, {count} servers one after the other", rows)


def p50(times, at):
    return percentile([one[at] for one in times[1:] or times], 50)


def _boot(cloud):
    """Return seconds until a server is accepted, ACTIVE, has said something, and is up."""
    began = time.monotonic()
    (server,) = cloud.boot()
    passed = [time.monotonic() - began]
    cloud.wait([server], "ACTIVE")
    passed.append(time.monotonic() - began)
    for words in ("guest: boot", linux_guest.READY):
        wait_until(lambda words=words: words in console(cloud, server), words, BOOTED)
        passed.append(time.monotonic() - began)
    cloud.delete_all()
    return passed


def _daemon(folder, count, *, real):
    """Boot servers on a host of its own process, and look at what that takes."""
    with contextlib.ExitStack() as stack:
        options = {"compute": {"cpu_allocation_ratio": 1000.0, "ram_allocation_ratio": 1000.0}}
        if real:
            (folder / "libvirtd").mkdir(parents=True)
            libvirtd = stack.enter_context(Libvirtd(folder / "libvirtd", SERVICES / "libvirt"))
            options = _libvirt_options(libvirtd, **options["compute"])
        backing = [stack.enter_context(_service(kind)) for kind in ("rabbitmq", "postgresql")]
        rig = stack.enter_context(
            running("threading", *backing, overrides=options, cells=1, hosts=1)
        )
        cloud = Cloud(rig)
        stack.callback(cloud.close)
        stack.callback(cloud.delete_all)
        cloud.image = _sector(rig)
        cloud.flavor = cloud.create_flavor(name="sector", ram=64, disk=0)
        return _watched(cloud, psutil.Process(rig.pids()[HOST]), count, real=real)


def _watched(cloud, parent, count, *, real):
    cloud.wait(cloud.boot(), "ACTIVE")  # whatever is loaded or made at the first
    daemon = next(iter(parent.children(recursive=True)), parent)
    before, began = Taken.by(daemon), time.monotonic()
    wait_all(cloud, cloud.boot(count=count))
    wall, after = time.monotonic() - began, Taken.by(daemon)
    time.sleep(IDLE)
    last = Taken.by(daemon)
    return {
        "driver": "libvirt" if real else "fake",
        "guests": count,
        "boots/s": round(count / wall, 1),
        "CPU ms/boot": round(1000 * (after.cpu - before.cpu) / count),
        "its programs": round(1000 * (after.programs - before.programs) / count),
        "MiB at first": round(before.memory / MIB),
        "KiB/guest": round((after.memory - before.memory) / 1024 / count),
        "CPU % with them": round(100 * (last.cpu - after.cpu) / IDLE, 1),
    }


@dataclasses.dataclass(frozen=True)
class Taken:
    """What a daemon has by now: bytes of its own, CPU seconds, and those of what it has run."""

    memory: int
    cpu: float
    programs: float

    @classmethod
    def by(cls, process):
        times = process.cpu_times()
        return cls(
            process.memory_full_info().uss,
            times.user + times.system,
            times.children_user + times.children_system,
        )


def wait_all(cloud, server_ids):
    def at_rest():
        found = [server["status"] for server in cloud.client.servers()]
        assert "ERROR" not in found
        return found.count("ACTIVE") >= len(server_ids)

    wait_until(at_rest, "all are ACTIVE", 300)


def _images(folder, size):
    """Fetch an image, and make its base; then both once more."""
    store = LocalImageStore(folder / "store")
    data = io.BytesIO(os.urandom(size * MIB))
    image = store.add(admin_context(), name="random", data=data, disk_format="raw")
    cache, stopping = ImageCache(store, folder=folder / "images"), threading.Event()
    (folder / "bases").mkdir()
    bases = BaseImages(folder / "bases", in_use=set, lifetime=0.0)

    def fetch():
        return cache.ensure(admin_context(), image, stopping=stopping, user=image.id)

    def stand(path):
        with bases.held(path, images.inspect(path)) as base:
            images.create(folder / "root.qcow2", size=size * MIB, base=base)

    rows = [_timed("fetched and checked", fetch), _timed("there already", fetch)]
    path = fetch()
    rows += [_timed("disk and its base made", lambda: stand(path))]
    rows += [_timed("disk on a base that is there", lambda: stand(path))]
    table(f"an image of {size} MiB (raw, random)", rows)


def _timed(what, do):
    began = time.monotonic()
    do()
    return {"what": what, "ms": round(1000 * (time.monotonic() - began), 1)}


def _sector(rig):
    """Add the image of a guest that writes a line and halts; return its id."""
    data = io.BytesIO(probe.disk(rounds=1))
    return LocalImageStore(rig.plan.images).add(admin_context(), name="sector", data=data).id


def _libvirt_options(libvirtd, **compute):
    return {
        "compute": {"virt_driver": "libvirt", **compute},
        "libvirt": {"connection_uri": libvirtd.uri, "virt_type": "qemu"},
    }


@contextlib.contextmanager
def _service(kind):
    service = services.KINDS[kind].find_or_start(SERVICES)
    try:
        yield service
    finally:
        service.stop()


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=["all", "linux", "daemon", "images"], default="all"
    )
    parser.add_argument("-n", dest="count", type=int, help="servers; left out: some")
    parser.add_argument("--mib", type=int, default=200, help="how large the image is")
    return parser.parse_args()


if __name__ == "__main__":
    main()
