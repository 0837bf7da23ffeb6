"""One compute host of real parts; only the conductor and the scheduler are fakes."""

import io
import json
import threading
import time
from concurrent import futures

import futurist
import pytest

from roost import states
from roost.compute.config_drive import ConfigDrives
from roost.compute.host import Host
from roost.compute.host_report import Amounts, HostSettings
from roost.compute.image_cache import ImageCache
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease, LeaseKeeper, RetryPolicy
from roost.compute.manager import ComputeManager
from roost.compute.network.local import LocalNetworkDriver
from roost.compute.operations import runner
from roost.compute.operations.operation import HostOperation
from roost.compute.operations.operation_queue import Executors
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.driver import HostResources
from roost.compute.virt.fake.driver import FakeDriver
from roost.compute.virt.fake.faults import Faults
from roost.guestdata import Operator
from roost.image.local import LocalImageStore
from roost.objects import NetworkRequest, Operation, OperationParams
from tests.builders import a_context, a_flavor, a_spec, a_uuid, an_instance
from tests.fakes.cell_conductor import FakeCellConductor
from tests.fakes.reporter import FakeReporter
from tests.fakes.service_groups import FakeGroup
from tests.operation_rows import a_build

RESOURCES = HostResources(
    node="h1",
    vcpus=4,
    memory_mb=4096,
    disk_gb=40,
    hypervisor_type="fake",
    hypervisor_version=1,
)
SETTINGS = HostSettings(
    host="h1",
    availability_zone="nova",
    reserved=Amounts(vcpus=0, memory_mb=1024, disk_gb=0),
    ratios=Amounts(vcpus=2.0, memory_mb=1.0, disk_gb=1.0),
)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


class Rig:
    """A host, what surrounds it, and the questions that tests ask of both."""

    def __init__(self, path, *, host_bound=False, resources=RESOURCES):
        self.path = path
        self.faults_file = path / "faults.json"
        self.conductor = FakeCellConductor()
        self.reporter = FakeReporter()
        self.group = FakeGroup()
        self.store = LocalImageStore(path / "images")
        self.image = self.store.add(a_context(), name="tiny", data=io.BytesIO(b"tiny"))
        self.virt = FakeDriver(
            resources, folder=path / "h1", faults=Faults(self.faults_file, host="h1")
        )
        self.tracker = ResourceTracker(
            self.virt, settings=SETTINGS, on_change=self.reporter.changed
        )
        self.clock = Clock()
        self.leases = LeaseKeeper(self.conductor, host="h1", clock=self.clock)
        self.host = Host(
            name="h1",
            conductor=self.conductor,
            virt=self.virt,
            networks=LocalNetworkDriver(self.conductor, host="h1", host_bound=host_bound),
            store=self.store,
            images=ImageCache(self.store, folder=path / "cache"),
            drives=ConfigDrives(folder=path / "drives", operator=Operator(domain="here")),
            tracker=self.tracker,
            leases=self.leases,
            patience=RetryPolicy(seconds=0.1, first=0.001, longest=0.01),
            step_patience=RetryPolicy(seconds=5, first=0.001, longest=0.01, clock=self.clock),
        )

    def instance(self, **values):
        """An instance that was just handed to this host."""
        networks = [NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)]
        made = an_instance(
            **{
                "host": "h1",
                "attempt": 1,
                "flavor": a_flavor(memory_mb=1024),
                "image": self.image,
                "networks": networks,
            }
            | values
        )
        self.conductor.instances[made.uuid] = made
        return made

    def manager(self, *, executor=None, flow=None, tasks=None, **values):
        now = futurist.SynchronousExecutor()
        rest = tasks or now
        return ComputeManager(
            self.host,
            availability_zone="nova",
            reporter=self.reporter,
            group=self.group,
            executors=Executors(
                executor or now,
                power=rest,
                images=rest,
                **{name: values.pop(name, rest) for name in ("ends", "copies", "devices")},
            ),
            flow=flow,
            **values,
        )

    def delete(self, manager, instance):
        """What a user's delete comes to here: the row says so, then the message comes."""
        instance.task_state = states.DELETING
        run(manager, instance, kind="delete")

    def trouble(self, *rules):
        self.faults_file.write_text(json.dumps(rules))

    def unannounce(self, uuid):
        """Let a guest be as one whose daemon died before the cell had accepted it."""
        contents = self.virt.contents(uuid)
        contents.pop("announced", None)
        self.virt._write(uuid, contents)

    def assert_clean_slate(self):
        """Nothing of any instance is left on this host."""
        assert self.virt.list_guests() == []
        assert self.tracker.claims == {}
        assert [*self.path.glob("**/*.iso")] == []


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


@pytest.fixture
def host_bound_rig(tmp_path):
    return Rig(tmp_path, host_bound=True)


@pytest.fixture
def boot():
    """Hand an instance to a manager as a conductor does."""

    def boot(manager, instance, **values):
        manager.build_and_run_instance(
            a_context(),
            operation=a_build(instance),
            instance=instance,
            request_spec=a_spec(),
            **values,
        )

    return boot


@pytest.fixture
def threads():
    """Run builds in threads of their own, two at once; they have ended when the test has."""
    with futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield pool


@pytest.fixture
def wait_until():
    def wait_until(reached, seconds=10):
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, "this state was not reached"
            threading.Event().wait(0.005)

    return wait_until


@pytest.fixture
def do_step(rig, monkeypatch):
    """Do a step of a move on the host, as its row says, and return how it is reported, if it is."""

    def do_step(server, step, *, kind, asked=None, **row):
        names = {"uuid": a_uuid(), "instance_uuid": server.uuid, "kind": kind.name, "host": "h1"}
        found = Operation.of(**names, step=step, instance=server.obj_clone(), **row)
        ends = []

        def begin(*_, **__):
            if asked is not None:
                asked.append(found)
            return found

        monkeypatch.setattr(rig.conductor, "begin_operation", begin)
        monkeypatch.setattr(rig.conductor, "end_operation", lambda *_, **end: ends.append(end))
        lease = Lease(rig.leases, server.uuid, found.uuid)
        lease.take(found)
        runner.run(
            HostOperation(
                host=rig.host,
                context=a_context(),
                kind=kind,
                row=found,
                timeline=InstanceEvents("h1"),
                lease=lease,
            )
        )
        return ends[-1] if ends else None

    return do_step


def run(manager, instance, *, kind, context=None, image=None, **told):
    """What an action of a user comes to here: the row has the operation, then the message comes."""
    names = {"uuid": instance.uuid, "instance_uuid": instance.uuid, "host": "h1"}
    params = OperationParams.of(image=image)
    operation = Operation.of(**names, kind=kind, step=kind, params=params)
    manager.run(context or a_context(), operation=operation, **told)


def change_interfaces(rig, manager, instance, kind, *, uuid=None, **params):
    """What a request to attach or detach comes to here; return the uuid of the operation."""
    operation = Operation.of(
        uuid=uuid or a_uuid(),
        instance_uuid=instance.uuid,
        host="h1",
        kind=kind.name,
        step=kind.name,
        params=OperationParams.of(**params),
    )
    rig.conductor.beside[operation.uuid] = operation
    manager.run(a_context(), operation=operation)
    return operation.uuid
