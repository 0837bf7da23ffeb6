"""All methods of all RPC interfaces, as they are declared, and arguments that fit."""

import importlib
import pkgutil
import re

import roost.rpc
from roost.objects import CellLiveness, HostFinding, NetworkInfo, NetworkRequest, Operation
from roost.rpc.interface import Interface
from tests import builders

for found in pkgutil.iter_modules(roost.rpc.__path__):
    importlib.import_module(f"roost.rpc.{found.name}")
INTERFACES = [each for each in Interface.__subclasses__() if each.__module__.startswith("roost.")]
METHODS = [(interface, name) for interface in INTERFACES for name in interface.methods]
_VALUES = {
    "list": list,
    "HostReport": builders.a_report,
    "ResourceRequest": builders.a_spec,
    "RequestSpec": builders.a_spec,
    "Selection": builders.a_selection,
    "Instance": builders.an_instance,
    "CellLiveness": lambda: CellLiveness.of(
        cell_uuid=builders.CELL1, version=1, whole=False, up=[], down=[]
    ),
    "HostFinding": lambda: HostFinding.of(
        kind="leftover", instance_uuid=builders.a_uuid(), host="h1", reason=""
    ),
    "NetworkRequest": lambda: NetworkRequest.of(
        network_id=None, fixed_ip=None, port_id=None, tag=None
    ),
    "NetworkInfo": lambda: NetworkInfo.of(vifs=[]),
    "Operation": lambda: Operation.of(
        uuid=builders.a_uuid(),
        instance_uuid=builders.a_uuid(),
        kind="rebuild",
        step="rebuild",
        host="h1",
    ),
    "RoostObject": builders.a_flavor,
    "str": builders.a_uuid,
    "int": lambda: 1,
    "bool": lambda: True,
    "dict": dict,
    "None": lambda: None,
}


def arguments_of(interface, name):
    """Return the arguments of a method, each with a value that fits."""
    parameters = interface.methods[name].signature.parameters
    return {
        key: _value(key, str(parameter.annotation))
        for key, parameter in parameters.items()
        if key not in ("self", "context")
    }


def _value(name, annotation):
    if name == "instance_uuids":
        return [builders.a_uuid()]
    return next(_VALUES[word] for word in re.findall(r"\w+", annotation) if word in _VALUES)()
