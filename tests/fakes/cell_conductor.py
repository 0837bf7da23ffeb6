"""A cell-conductor over plain dicts: keeps the promises of its interface, without bus and SQL."""

import collections

from roost import exception, states
from roost.objects import NetworkInfo, Vif
from tests.builders import CELL1


class FakeCellConductor:
    """Holds instances by uuid; what was cast to it is in ``rescheduled`` and ``abandoned``."""

    def __init__(self, *instances):
        self.instances = {each.uuid: each for each in instances}
        self.ports = {}
        self.events = collections.defaultdict(list)
        self.rescheduled = []
        self.abandoned = []
        self.buried = []
        self.disabled = False
        self._trouble = collections.defaultdict(list)

    def fail(self, method, *errors, applied=False):
        """Let the next calls of a method raise, before or (``applied``) after they acted."""
        self._trouble[method] += [(error, applied) for error in errors]

    def report_service(self, context, *, host, binary, availability_zone=None):
        with self._acting("report_service"):
            return {
                "cell_uuid": CELL1,
                "cell_name": "cell1",
                "service_uuid": CELL1,
                "disabled": self.disabled,
            }

    def begin_build(self, context, *, instance_uuid, host, attempt):
        with self._acting("begin_build"):
            found = self.instances.get(instance_uuid)
            expected = {"host": host, "attempt": attempt, "task_state": states.SCHEDULING}
            if found is None or not _is(found, expected):
                return False
            found.task_state = states.NETWORKING if found.networks else states.SPAWNING
            return True

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

    def free_networks(self, context, *, instance_uuid):
        with self._acting("free_networks"):
            self.ports.pop(instance_uuid, None)

    def instance_update(self, context, *, instance_uuid, changes, expected, events):
        with self._acting("instance_update"):
            found = self._as_expected(instance_uuid, expected)
            after = states.State(
                changes.get("vm_state", found.vm_state), changes.get("task_state", found.task_state)
            )
            before = states.State(found.vm_state, found.task_state)
            if after != before and not states.may_follow(before, after):
                raise exception.Conflict(f"{before} may not become {after}")
            for name, value in changes.items():
                setattr(found, name, value)
            self.events[instance_uuid] += events

    def build_instances(self, context, *, instance_uuid, host, attempt, reason, events):
        with self._acting("build_instances"):
            self.rescheduled.append((instance_uuid, host, attempt, reason))
            self.events[instance_uuid] += events

    def abandon_build(self, context, *, instance_uuid, host, attempt, reason, events):
        with self._acting("abandon_build"):
            self.abandoned.append((instance_uuid, host, attempt, reason))
            self.events[instance_uuid] += events
            self.ports.pop(instance_uuid, None)

    def finish_delete(self, context, *, instance_uuid, host, events):
        with self._acting("finish_delete"):
            self.ports.pop(instance_uuid, None)
            self.events[instance_uuid] += events
            if self.instances.pop(instance_uuid, None) is not None:
                self.buried.append(instance_uuid)

    def list_instances(self, context, *, host):
        with self._acting("list_instances"):
            return [each for each in self.instances.values() if each.host == host]

    def object_backport(self, context, *, objinst, versions):
        raise exception.VersionTooOld("this one knows nothing newer")

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
    return Vif.of(
        id=CELL1,
        network_id=request.network_id or CELL1,
        network_name="private",
        mac="02:00:00:00:00:01",
        ip="10.0.0.2",
        cidr="10.0.0.0/16",
        gateway="10.0.0.1",
        host=None,
        tag=request.tag,
    )
