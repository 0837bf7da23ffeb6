"""The API keeps what its OpenAPI document says, whatever is sent: schemathesis tries.

The data are made from the document that the API serves: fitting it, and not fitting it. The seed is
fixed; ``ROOST_EXAMPLES`` raises the number of tries.
"""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from roost.api import microversions, openapi
from roost.api.dependencies import ApiOptions
from roost.api.placement.microversions import is_below
from roost.db.api import models
from roost.standalone.image_schemas import PATCH_KINDS
from roost.standalone.tables import ROUTES
from tests import api_harness
from tests.api_harness import ADMIN, ALICE

_EXAMPLES = int(os.environ.get("ROOST_EXAMPLES", "4"))
_SETTINGS = settings(
    max_examples=_EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def no_fault_of_ours(ctx, response, case):
    """Let no request be our fault; what no hypervisor here can do is documented to be 501."""
    if response.status_code != 501:
        return not_a_server_error(ctx, response, case)
    return None


_CHECKS = [
    no_fault_of_ours,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
for _kind in PATCH_KINDS:
    schemathesis.serializer.alias(_kind, "application/json")
_MINORS = [microversions.MAXIMUM]
_ALL = "all"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ApiOptions(max_limit=5, quota=api_harness.UNLIMITED)
    with api_harness.made_in(tmp_path_factory.mktemp("world"), options) as world:
        yield world


@pytest.fixture(scope="module")
def described(world):
    """The API as each document describes it."""
    return {
        minor: schemathesis.openapi.from_wsgi(
            "/openapi.json" + ("" if minor == _ALL else f"?microversion=2.{minor}"),
            world.client.app,
        )
        for minor in (_ALL, microversions.MINIMUM, *_MINORS)
    }


@pytest.fixture
def known(world):
    """One of each thing, whatever limits an earlier request has set."""
    with world.api_db.begin() as session:
        for table in (models.quota_limits, models.quota_user_limits, models.quota_class_limits):
            session.execute(table.delete())
    return world.things()


def _tries():
    """List what is to be tried; what takes nothing cannot be given what does not fit."""
    for minor in _MINORS:
        for path, methods in openapi.document(ROUTES, minor=minor)["paths"].items():
            for method, operation in methods.items():
                yield pytest.param(minor, path, method, GenerationMode.POSITIVE)
                if operation["parameters"] or "requestBody" in operation:
                    yield pytest.param(minor, path, method, GenerationMode.NEGATIVE)


def _cases(operation, mode, known):
    """Make requests: for anything, and for what is there."""
    names = [parameter.name for parameter in operation.path_parameters]
    here = {name: known[name] for name in names} or None
    anything = operation.as_strategy(generation_mode=mode)
    aimed = operation.as_strategy(generation_mode=mode, path_parameters=here)
    return anything | aimed.map(lambda case: _aimed(case, known))


def _aimed(case, known):
    """Let a new server be of an image and a flavor that there are."""
    server = case.body.get("server") if isinstance(case.body, dict) else None
    if isinstance(server, dict) and {"flavorRef", "imageRef"} & server.keys():
        server |= {"flavorRef": known["flavor_id"], "imageRef": known["image_id"]}
    return case


@pytest.mark.parametrize("minor", [_ALL, *_MINORS])
def test_the_document_is_valid(described, minor):
    described[minor].validate()


def test_the_document_has_every_route_but_those_of_placement(described):
    paths = described[_ALL].raw_schema["paths"]
    described = [route for route in ROUTES if not is_below(route.path)]
    assert {(p, m) for p, methods in paths.items() for m in methods} == {
        (route.path, route.method.lower()) for route in described
    }


@pytest.mark.parametrize(
    ("minor", "created", "deleted"), [(_ALL, {"200", "201"}, {"202", "204"}), (1, {"200"}, {"202"})]
)
def test_an_operation_has_every_status_of_success_that_it_ever_had(
    described, minor, created, deleted
):
    paths = described[minor].raw_schema["paths"]
    for operation, statuses in (
        (paths["/v2.1/os-keypairs"]["post"], created),
        (paths["/v2.1/os-keypairs/{keypair_name}"]["delete"], deleted),
    ):
        assert {status for status in operation["responses"] if status < "300"} == statuses


def test_what_only_some_microversions_have_may_not_be_there(described):
    answers = described[_ALL].raw_schema["paths"]["/v2.1/os-networks"]["get"]["responses"]
    assert "404" in answers


def test_what_anybody_may_do_in_compute_takes_a_token(described):
    paths = described[_ALL].raw_schema["paths"]
    assert paths["/v2.1/extensions"]["get"]["security"] == [{"token": []}]
    assert paths["/v2.1"]["get"]["security"] == []


@pytest.mark.parametrize(("minor", "path", "method", "mode"), [*_tries()])
def test_the_answer_is_one_that_the_document_names(described, known, minor, path, method, mode):
    operation = described[minor][path][method]

    @_SETTINGS
    @given(case=_cases(operation, mode, known), token=st.sampled_from([ADMIN, ALICE]))
    def ask(case, token):
        case.call_and_validate(headers={"X-Auth-Token": token}, checks=_CHECKS)

    ask()
