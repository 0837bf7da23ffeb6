"""A cell-conductor over plain dicts: keeps the promises of its interface, without bus and SQL."""

import collections

from roost import exception, states
from roost.db.types import utcnow
from roost.objects import InstanceLocation, NetworkInfo, Operation, OperationParams
from roost.objects.host import DELETED, ELSEWHERE, HERE, LEFT, NOWHERE, UNKNOWN
from roost.operations import kinds
from roost.security_groups import Filtering
from tests.builders import CELL1, a_vif


class FakeCellConductor:
    """Holds instances by uuid; builds that hosts gave up are in ``rescheduled`` and ``abandoned``.

    An instance with the task
    state of an operation has one, whose uuid is the instance's; ``images`` are those that the
    operations are about.
    """

    def __init__(self, *instances):
        self.images = {}
        self.beside = {}  # operations without a task state, by uuid
        self.ended = {}  # their ends: reason and code
        self.instances = {each.uuid: each for each in instances}
        self.ports = {}
        self.events = collections.defaultdict(list)
        self.rescheduled = []
        self.abandoned = []
        self.buried = []
        self.left_behind = set()  # (instance, host)
        self.findings = []
        self.faults = {}
        self.renewals = []
        self.asked = []  # operations that hosts have asked for
        self.lease_seconds = 30.0
        self.now = lambda: None  # the time of the cell, as text
        self.disabled = False
        self.disabled_version = 0
        self.read_parts = None
        self.filterings = {}  # by network
        self._trouble = collections.defaultdict(list)

    def fail(self, method, *errors, applied=False):
        """Let the next calls of a method raise, before or (``applied``) after they acted."""
        self._trouble[method] += [(error, applied) for error in errors]

    def report_service(
        self, context, *, host, binary, availability_zone=None, state_id=None, version=None
    ):
        with self._acting("report_service"):
            return {
                "cell_uuid": CELL1,
                "cell_name": "cell1",
                "service_uuid": CELL1,
                "disabled": self.disabled,
                "disabled_version": self.disabled_version,
                "read_parts": self.read_parts,
                "now": self.now(),
            }

    def allocate_networks(self, context, *, instance_uuid, host, attempt):
        with self._acting("allocate_networks"):
            tasks = (states.NETWORKING, states.SPAWNING)
            found = self._as_expected(
                instance_uuid, {"host": host, "attempt": attempt, "task_state": tasks}
            )
            found.task_state = states.SPAWNING
            ports = self.ports.setdefault(instance_uuid, [_a_vif(one) for one in found.networks])
            for port in ports:
                port.host = host
            return NetworkInfo.of(vifs=ports)

    def describe_filtering(self, context, *, host, network_ids):
        with self._acting("describe_filtering"):
            return {
                network_id: self.filterings.get(network_id, Filtering()).as_dict()
                for network_id in network_ids
            }

    def let_pass(self, vif, *rules, members=None):
        """Let a port be in one group with these rules.

        :param members: the addresses of members of groups that rules name
        """
        before = self.filterings.get(vif.network_id, Filtering())
        group_id = f"group-{vif.id}"
        self.filterings[vif.network_id] = Filtering(
            {**before.ports, vif.id: [group_id]},
            {**before.rules, group_id: list(rules)},
            {**before.members, **(members or {})},
        )

    def free_networks(self, context, *, instance_uuid, host):
        with self._acting("free_networks"):
            self.ports.pop(instance_uuid, None)

    def attach_port(self, context, *, instance_uuid, host, request, key):
        with self._acting("attach_port"):
            found = self._as_expected(instance_uuid, {"host": host})
            ports = self.ports.setdefault(instance_uuid, [])
            if key not in [port.id for port in ports]:
                ports.append(a_vif(id=key, host=host, tag=request.tag))
            found.network_info = NetworkInfo.of(vifs=ports)
            return next(port for port in ports if port.id == key)

    def detach_port(self, context, *, instance_uuid, host, port_id):
        with self._acting("detach_port"):
            found = self._as_expected(instance_uuid, {"host": host})
            kept = [port for port in self.ports.get(instance_uuid, []) if port.id != port_id]
            self.ports[instance_uuid] = kept
            found.network_info = NetworkInfo.of(vifs=kept)

    def write_interfaces(self, context, *, instance_uuid, network_info, expected, spawns=False):
        with self._acting("write_interfaces"):
            found = self._as_expected(instance_uuid, expected)
            found.network_info = network_info
            if spawns:
                found.task_state = states.SPAWNING

    def renew_leases(self, context, *, host, operations, nothing_else=False):
        with self._acting("renew_leases"):
            self.renewals.append(operations)
            lost = [uuid for uuid in operations if self._operation(uuid, host) is None]
            return {"seconds": self.lease_seconds, "lost": lost, "now": self.now()}

    def list_instances(self, context, *, host, instance_uuids=None):
        with self._acting("list_instances"):
            here = [each for each in self.instances.values() if each.host == host]
            return [one for one in here if instance_uuids is None or one.uuid in instance_uuids]

    def locate_instances(self, context, *, host, instance_uuids, and_others_here=False):
        with self._acting("locate_instances"):
            others = [each.uuid for each in self.instances.values() if each.host == host]
            asked = {*instance_uuids, *(others if and_others_here else ())}
            return [self._seen_from(host, uuid) for uuid in sorted(asked)]

    def begin_operation(self, context, *, operation):
        with self._acting("begin_operation"):
            self.asked.append(operation.uuid)
            found = self._operation(operation.uuid, operation.host)
            if found is None or found.kind != operation.kind:
                return None
            if kinds.get(found.kind).builds:
                return self._begin_build(operation)
            return found

    def _begin_build(self, operation):
        instance = self.instances[operation.instance_uuid]
        if instance.attempt != operation.attempt:
            return None
        if instance.task_state == states.SCHEDULING:
            instance.task_state = states.NETWORKING if instance.networks else states.SPAWNING
        return operation

    def _beside(self, uuid):
        found = self.beside[uuid]
        return Operation.of(
            **found.values() | {"instance": self.instances[found.instance_uuid].obj_clone()}
        )

    def _operation(self, uuid, host):
        if uuid in self.beside:
            return self._beside(uuid)
        found = self.instances.get(uuid)
        if found is None or found.host != host or found.task_state not in kinds.OF_TASK:
            return None
        kind = kinds.OF_TASK[found.task_state]
        return Operation.of(
            uuid=uuid,
            instance_uuid=uuid,
            kind=kind.name,
            step=kind.steps[0].name,
            host=host,
            params=OperationParams.of(image=self.images.get(uuid)),
            instance=found.obj_clone(),
        )

    def advance_operation(self, context, *, operation, changes):
        with self._acting("advance_operation"):
            expected = {"host": operation.host, "task_state": kinds.get(operation.kind).tasks}
            found = self._as_expected(operation.instance_uuid, expected)
            for name, value in changes.items():
                setattr(found, name, value)

    def end_operation(
        self, context, *, operation, power_state, events, outcome, vm_state=None, reason=None,
        handover=None, network_info=None, code=None, details=None, config_drive=False,
    ):  # fmt: skip
        with self._acting("end_operation"):
            if kinds.get(operation.kind).builds:
                self._end_build(operation, outcome, events, details or reason)
                if outcome == "done":
                    found = self.instances[operation.instance_uuid]
                    found.power_state, found.network_info = power_state, network_info
                    found.config_drive = config_drive or found.config_drive
                return
            if self.beside.pop(operation.uuid, None) is not None:
                self.ended[operation.uuid] = (reason, code)
                return
            known, instance_uuid = kinds.get(operation.kind), operation.instance_uuid
            expected = {"host": operation.host, "task_state": known.tasks}
            found = self._as_expected(instance_uuid, expected)
            self.events[instance_uuid] += events
            self.faults[instance_uuid] = reason
            if known.repeated_until_done and reason is not None:
                return
            if known.deletes:
                self.ports.pop(instance_uuid, None)
                del self.instances[instance_uuid]
                self.buried.append(instance_uuid)
                return
            found.task_state = None
            if known.repeated_until_done:
                found.vm_state = known.leads_to
                found.power_state = power_state or states.NOSTATE
            else:
                self._settle(found, None if outcome == "spoilt" else power_state, vm_state)

    def _end_build(self, operation, outcome, events, why):
        uuid, tasks = operation.instance_uuid, kinds.get(operation.kind).tasks
        this = {"host": operation.host, "attempt": operation.attempt}
        if outcome == "done":
            found = self._as_expected(uuid, this | {"task_state": tasks[1:]})
            found.vm_state, found.task_state = states.ACTIVE, None
            found.launched_at = utcnow()
        else:
            self._as_expected(uuid, this | {"task_state": tasks})
            known = self.rescheduled if outcome == "failed" else self.abandoned
            known.append((uuid, operation.host, operation.attempt, why))
            if outcome == "spoilt":
                self.ports.pop(uuid, None)
        self.events[uuid] += events

    def report_power(
        self, context, *, instance_uuid, host, seen, power_state, events,
        vm_state=None, reason=None,
    ):  # fmt: skip
        with self._acting("report_power"):
            expected = {"host": host, "vm_state": seen, "task_state": None}
            found = self._as_expected(instance_uuid, expected)
            self.events[instance_uuid] += events
            self.faults[instance_uuid] = reason
            if seen not in (states.SOFT_DELETED, states.RESIZED):
                self._settle(found, power_state, vm_state)
            else:
                found.power_state = power_state or states.NOSTATE

    def _settle(self, found, power_state, vm_state):
        found.power_state = power_state or states.NOSTATE
        if power_state is None:
            found.vm_state = states.ERROR
        else:
            found.vm_state = vm_state or found.vm_state

    def report_finding(self, context, *, finding):
        with self._acting("report_finding"):
            self.findings.append((finding.kind, finding.instance_uuid))

    def object_backport(self, context, *, objinst, versions):
        raise exception.VersionTooOld("this one knows nothing newer")

    def _seen_from(self, host, uuid):
        found = self.instances.get(uuid)
        if found is None:
            presence = DELETED if uuid in self.buried else UNKNOWN
            return InstanceLocation.of(instance_uuid=uuid, presence=presence)
        presence = NOWHERE if found.host is None else HERE if found.host == host else ELSEWHERE
        if presence == ELSEWHERE and (uuid, host) in self.left_behind:
            presence = LEFT
        told = ("host", "attempt", "vm_state", "task_state", "power_state")
        return InstanceLocation.of(
            instance_uuid=uuid,
            presence=presence,
            launched=found.launched_at is not None,
            **{name: getattr(found, name) for name in told},
        )

    def _acting(self, method):
        return _Trouble(self._trouble[method])

    def _as_expected(self, uuid, expected):
        found = self.instances.get(uuid)
        if found is None:
            raise exception.NotFound(f"instance {uuid} is gone")
        if not _is(found, expected):
            raise exception.Conflict(f"instance {uuid} is not {expected}")
        return found


class _Trouble:
    """Raises the next error that was ordered, around what the block does."""

    def __init__(self, errors):
        self._error, self._applied = errors.pop(0) if errors else (None, False)

    def __enter__(self):
        if self._error is not None and not self._applied:
            raise self._error

    def __exit__(self, kind, *_):
        if self._error is not None and self._applied and kind is None:
            raise self._error


def _is(instance, expected):
    wanted = {n: v if isinstance(v, (tuple, list)) else (v,) for n, v in expected.items()}
    return all(getattr(instance, name) in values for name, values in wanted.items())


def _a_vif(request):
    network_id = request.network_id or CELL1
    return a_vif(id=CELL1, network_id=network_id, host=None, tag=request.tag)
