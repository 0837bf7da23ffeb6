"""Every route has a policy, a schema and a handler that exists; nothing is declared twice."""

import importlib
import itertools
import pkgutil

import jsonschema
import pytest
from oslo_policy import generator

import roost.api
import roost.standalone
from roost.api.policy import Rule
from roost.standalone.tables import ROUTES, list_rules

_WRITES = ("POST", "PUT", "PATCH")
_SAID_BY_PATH = {
    "ServerTags.add",
    "ImageEdits.tag",
    "NetworkTags.add",
}  # writes whose body says nothing
_DATA = {"ImageEdits.upload"}  # and those whose body has no schema
_REFUSED = {"VolumeAttachments.refuse"}  # and those that nobody heeds


def test_every_module_of_routes_is_in_the_table():
    for found in pkgutil.walk_packages(roost.api.__path__, "roost.api."):
        module = importlib.import_module(found.name)
        for name, rows in vars(module).items():
            assert not name.endswith("ROUTES") or set(rows) <= set(ROUTES), found.name


def test_every_rule_of_a_module_is_named_by_a_route():
    named = {rule for route in ROUTES for rule in (route.policy, *route.checks)}
    for package in (roost.api, roost.standalone):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            declared = vars(importlib.import_module(found.name)).values()
            assert {rule for rule in declared if isinstance(rule, Rule)} <= named, found.name


def test_no_rule_is_declared_twice():
    rules = {id(rule): rule for route in ROUTES for rule in (route.policy, *route.checks)}
    assert len(rules) == len(set(rules.values()))


def test_every_route_has_a_schema_for_its_query():
    assert [route for route in ROUTES if not route.query.documents] == []


def test_every_schema_is_one():
    schemas = {id(schema): schema for r in ROUTES for schema in (r.query, r.body) if schema}
    for schema in schemas.values():
        for document in schema.documents.values():
            jsonschema.Draft202012Validator.check_schema(document)


def test_every_route_with_a_body_has_a_schema_for_it():
    without = {r.handler.__qualname__ for r in ROUTES if r.method in _WRITES and r.body is None}
    assert without == _SAID_BY_PATH | _DATA | _REFUSED


def test_every_handler_is_a_method_of_its_noun():
    for route in ROUTES:
        assert getattr(route.noun, route.handler.__name__) is route.handler


def test_no_two_routes_answer_the_same_request():
    for one, other in itertools.combinations(ROUTES, 2):
        if (one.method, one.path) == (other.method, other.path):
            assert one.until < other.since or other.until < one.since


def test_every_schema_applies_from_the_first_microversion_of_its_route():
    for route in ROUTES:
        for schema in filter(None, (route.query, route.body)):
            assert schema.document(route.since)


@pytest.mark.parametrize("rule", list_rules(), ids=lambda rule: rule.name)
def test_every_rule_is_explained_to_operators(rule):
    assert rule.description.endswith(".")
    assert generator._format_rule_default_yaml(rule)
