import inspect
import pathlib
import threading

import pytest
from oslo_context.context import get_current

from roost import conf, exception
from roost.callers import OURSELVES, Callers, Level
from roost.context import RequestContext
from roost.objects import Operation
from roost.operations.advance import Outcome
from roost.operations.kinds import BUILD, KINDS, REBUILD
from roost.rpc import interface
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus
from tests.builders import a_uuid
from tests.fakes.bus import RecordingBus
from tests.rpc_methods import INTERFACES, METHODS
from tests.unit.golden import check_golden

HERE = pathlib.Path(__file__).parent


class Power(interface.Interface):
    topic = "power"
    version = "1.1"

    @interface.cast(since="1.0")
    def on_(self, context: RequestContext, *, name: str) -> None: ...

    @interface.call(since="1.0", added={"force": "1.1"}, timeout=5)
    def off(self, context: RequestContext, *, name: str, force: bool = False) -> list: ...


class Manager:
    def __init__(self):
        self.switched_on = []
        self.seen = threading.Event()

    def on_(self, context, *, name):
        self.switched_on.append(name)
        self.seen.set()
        if name == "broken":
            raise exception.NotFound("no such thing")

    def off(self, context, *, name, force=False):
        if name == "missing":
            raise exception.BuildFailed("it burns", reschedulable=False, host="h9")
        if name == "crash":
            raise ZeroDivisionError
        if name == "current":
            return [get_current().request_id]
        return [name, force, context.user_id, context.deadline is not None]

    def undeclared(self, context):
        raise AssertionError("must not be reachable")


class PowerOfLastYear(interface.Interface):
    topic = "power"
    version = "1.0"

    @interface.call(since="1.0", timeout=5)
    def off(self, context: RequestContext, *, name: str) -> list: ...


class ManagerOfLastYear:
    def off(self, context, *, name):
        return [name]


@pytest.fixture
def bus(request):
    bus = Bus(conf.of({}), f"fake://{request.node.name.replace('[', '-').rstrip(']')}/")
    yield bus
    bus.close()


@pytest.fixture
def serve(bus):
    servers = []

    def start(declaration, manager, name="h1"):
        server = bus.server(declaration, manager, name)
        server.start()
        servers.append(server)
        return manager

    yield start
    for server in servers:
        server.stop()
        server.wait()


def context(**values):
    return RequestContext(**values)


def test_a_call_brings_back_what_the_manager_answers(bus, serve):
    serve(Power, Manager())
    assert Power(bus).off(context(user_id="u"), name="a") == ["a", False, "u", True]


def test_log_lines_of_a_method_name_the_request_of_its_message(bus, serve):
    serve(Power, Manager())
    for asked in (context(), context()):
        assert Power(bus).off(asked, name="current") == [asked.request_id]


def test_a_cast_reaches_the_manager(bus, serve):
    manager = serve(Power, Manager())
    Power(bus).on("h1").on_(context(), name="a")
    assert manager.seen.wait(5)
    assert manager.switched_on == ["a"]


def test_a_failing_cast_does_not_hurt_the_server(bus, serve):
    manager = serve(Power, Manager())
    Power(bus).on_(context(), name="broken")
    assert manager.seen.wait(5)
    assert Power(bus).off(context(), name="a")


def test_a_kind_of_failure_crosses_the_bus_whole(bus, serve):
    serve(Power, Manager())
    with pytest.raises(exception.BuildFailed) as caught:
        Power(bus).off(context(), name="missing")
    assert (caught.value.message, caught.value.reschedulable) == ("it burns", False)
    assert caught.value.details["host"] == "h9"


def test_nothing_but_what_is_declared_can_be_called(bus, serve):
    serve(Power, Manager())
    with pytest.raises(Exception, match="undeclared"):
        Power(bus)._client.prepare(timeout=5).call(context(), "undeclared")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({}, "'name'"), ({"name": "a", "colour": "red"}, "'colour'")],
    ids=["missing", "unknown"],
)
def test_whoever_sends_wrong_arguments_is_told_method_and_argument(bus, serve, arguments, named):
    """Someone who does not use our client: it would have refused them itself."""
    serve(Power, Manager())
    with pytest.raises(exception.Invalid, match=rf"off\(\): .*{named}"):
        Power(bus)._client.prepare(timeout=5).call(context(), "off", **arguments)


def test_a_peer_of_the_release_before_serves_what_it_knows(bus, serve):
    serve(PowerOfLastYear, ManagerOfLastYear())
    assert Power(bus).off(context(), name="a") == ["a"]


def test_a_capped_client_does_not_send_what_its_peers_do_not_know(bus):
    with pytest.raises(exception.VersionTooOld, match=r"1\.1"):
        Power(bus, version_cap="1.0").off(context(), name="a", force=True)


def test_a_call_that_arrives_after_its_deadline_is_not_carried_out():
    served = interface.endpoint(Power, manager := Manager())
    late = context()
    late.deadline = 1.0
    with pytest.raises(Exception):  # noqa: B017 - wrapped for the wire
        served.off(late, name="a")
    assert manager.switched_on == []


def test_a_manager_with_other_arguments_may_not_serve(bus):
    class Careless(Manager):
        def off(self, context, *, name, hard=False): ...

    with pytest.raises(interface.ContractBroken, match="off is not as Power declares it"):
        bus.server(Power, Careless(), "h1")


def test_a_method_newer_than_its_interface_may_not_be_declared():
    with pytest.raises(interface.ContractBroken, match=r"needs 1\.2"):

        class Confused(interface.Interface):
            topic = "confused"
            version = "1.1"

            @interface.call(since="1.2")
            def off(self, context: RequestContext) -> None: ...


def test_signatures_of_all_interfaces_are_pinned():
    found = {
        cls.topic: {
            "version": cls.version,
            "methods": {
                name: {
                    "kind": method.declared.kind,
                    "since": method.declared.since,
                    "added": method.declared.added,
                    "carries_token": method.declared.carries_token,
                    "callers": sorted(level.value for level in cls.callers_of(name)),
                    "own_host": method.declared.own_host,
                    "own_cell": method.declared.own_cell,
                    "signature": str(inspect.signature(method)),
                }
                for name, method in cls.methods.items()
            },
        }
        for cls in INTERFACES
    }
    check_golden(HERE / "interfaces.json", found)


def test_a_cast_made_within_a_call_has_no_deadline():
    recording = RecordingBus()
    asked = context().until(5)
    Power(recording).on_(asked, name="a")
    assert asked.deadline is not None
    assert [each.deadline for each in recording.contexts] == [None]


# Who speaks to other services in the user's name: hosts fetch and make images; and whoever is to
# let a host build hands the token on. With others it depends on their arguments: see below.
TOKEN_CARRIERS = {
    "compute.build_and_run_instance",
    "super-conductor.schedule_and_build_instances",
}


@pytest.mark.parametrize(
    ("declaration", "name"), METHODS, ids=lambda part: getattr(part, "topic", part)
)
def test_the_users_token_goes_only_where_it_is_needed(declaration, name):
    recording = RecordingBus()
    asked = context(
        user_id="alice",
        roles=["member"],
        auth_token="secret",
        service_catalog=[{"type": "image", "endpoints": []}],
    )
    method = declaration.methods[name]
    arguments = dict.fromkeys(set(method.signature.parameters) - {"self", "context"})
    recording.answers[name] = None
    method(declaration(recording), asked, **arguments)
    (sent,) = recording.contexts
    needed = f"{declaration.topic}.{name}" in TOKEN_CARRIERS
    assert (sent.auth_token == "secret", bool(sent.service_catalog)) == (needed, needed)
    assert (sent.user_id, sent.roles) == ("alice", ["member"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_with_an_operation_it_goes_only_where_the_host_works_on_an_image(kind):
    recording = RecordingBus()
    asked = context(user_id="alice", auth_token="secret")
    names = {"uuid": a_uuid(), "instance_uuid": a_uuid(), "host": "h1"}
    operation = Operation.of(**names, kind=kind.name, step=kind.steps[0].name)
    Compute(recording).on("h1").run(asked, operation=operation)
    (sent,) = recording.contexts
    works = {"rebuild", "rescue", "create_image", "create_backup", "evacuate"}
    works |= {"shelve", "unshelve", "unshelve_offloaded"}
    assert sent.auth_token == ("secret" if kind.name in works else None)
    assert sent.user_id == "alice"


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("kind", [BUILD, REBUILD], ids=str)
def test_a_host_hands_it_on_with_a_build_that_another_host_is_to_try(kind, outcome):
    recording = RecordingBus()
    recording.answers["end_operation"] = None
    names = {"uuid": a_uuid(), "instance_uuid": a_uuid(), "host": "h1"}
    operation = Operation.of(**names, kind=kind.name, step=kind.steps[0].name)
    asked = context(user_id="alice", auth_token="secret")
    CellConductor(recording).end_operation(
        asked, operation=operation, power_state=None, events=[], outcome=outcome
    )
    (sent,) = recording.contexts
    hands_on = (kind, outcome) == (BUILD, Outcome.FAILED)
    assert sent.auth_token == ("secret" if hands_on else None)


class Lamps(interface.Interface):
    topic = "lamps"
    version = "1.0"
    callers = frozenset({Level.API})

    @interface.cast(since="1.0", own_host="lamp.host")
    def light(self, context: RequestContext, *, lamp: dict) -> None: ...

    @interface.call(since="1.0", for_readers=True)
    def look(self, context: RequestContext, *, lamp: dict) -> None: ...

    @interface.cast(since="1.0")
    def break_(self, context: RequestContext, *, lamp: dict) -> None: ...


class Street(Lamps):
    topic = "street"
    version = "1.0"
    in_cell = True
    methods = Lamps.methods


OWN = "cell1"


def admission(declaration, name, own=OWN):
    callers = Callers(own, ["api"], ["watcher", "api"])
    declared = Lamps.methods[name].declared
    return callers, interface.AccessCheck(
        name,
        Lamps.callers_of(name),
        own_host=declared.own_host,
        own_cell=declared.own_cell,
        in_cell=callers.own_cell if declaration.in_cell else None,
        check_cell=None,
    )


@pytest.mark.parametrize(
    ("declaration", "name", "user", "may"),
    [
        (Lamps, "light", "api", True),
        (Lamps, "light", "cell1~h1", True),
        (Lamps, "light", "cell2~h1", True),
        (Lamps, "light", "cell1~h2", False),
        (Lamps, "light", "cell2", True),  # its hosts may have no users of their own
        (Lamps, "light", None, False),
        (Lamps, "light", "cell1", True),  # the receiver's own
        (Lamps, "look", "watcher", True),
        (Lamps, "look", "cell2", False),
        (Lamps, "light", "watcher", False),
        (Lamps, "break_", "watcher", False),
        (Lamps, "break_", "api", True),
        (Lamps, "break_", "cell1~h1", False),
        (Lamps, "break_", "cell2", False),
        (Lamps, "break_", "cell1", True),
        (Street, "light", "cell1~h1", True),
        (Street, "light", "cell2~h1", False),
        (Street, "light", "cell2", False),
        (Street, "light", "api", True),
    ],
)
def test_a_caller_is_compared_with_what_is_declared(declaration, name, user, may):
    callers, check = admission(declaration, name)
    arguments = {"lamp": {"host": "h1"}}
    if may:
        check.check(callers.identify(user), arguments)
    else:
        with pytest.raises(exception.Forbidden, match=name):
            check.check(callers.identify(user), arguments)


@pytest.mark.parametrize("arguments", [{}, {"lamp": None}, {"lamp": {}}, {"lamp": "h1"}])
def test_a_host_that_does_not_say_who_it_is_is_refused(arguments):
    callers, check = admission(Lamps, "light")
    with pytest.raises(exception.Forbidden, match=r"lamp\.host"):
        check.check(callers.identify("cell1~h1"), arguments)


def test_where_a_bus_knows_no_users_all_are_the_same():
    assert Callers(None).identify(None) == OURSELVES


def test_a_method_for_cells_says_what_of_it_is_of_the_cell():
    with pytest.raises(interface.ContractBroken, match="caller's cell"):

        class Loose(interface.Interface):
            topic = "loose"
            version = "1.0"
            callers = frozenset({Level.CELL})

            @interface.call(since="1.0")
            def ask(self, context: RequestContext) -> None: ...
