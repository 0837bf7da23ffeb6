"""What people say of a rig on the command line."""

import pathlib

import pytest

from roost import exception
from roost.rig.settings import LIBRARIES, parse_settings

_SAMPLED = pathlib.Path(__file__).parents[3] / "etc/oslo-config-generator.conf"


def test_settings_are_options_by_group():
    assert parse_settings(["conductor.max_attempts=1", "DEFAULT.debug=x=y"]) == {
        "conductor": {"max_attempts": "1"},
        "DEFAULT": {"debug": "x=y"},
    }


def test_a_setting_that_says_nothing_is_refused():
    with pytest.raises(exception.Invalid, match="must read GROUP"):
        parse_settings(["rpc_threads=5"])


@pytest.mark.parametrize(
    "name",
    [
        "DEFAULT.rpc_threads",
        "fake_driver.vcpus",
        "oslo_messaging_rabbit.heartbeat_timeout_threshold",
        "DEFAULT.rpc_response_timeout",
        "DEFAULT.use_json",
        "DEFAULT.graceful_shutdown_timeout",
        "oslo_policy.policy_file",
        "oslo_middleware.enable_proxy_headers_parsing",
        "cors.allowed_origin",
    ],
)
def test_options_of_the_daemons_and_of_their_libraries_may_be_set(name):
    group, _, option = name.partition(".")
    assert parse_settings([f"{name}=1"]) == {group: {option: "1"}}


def test_what_is_in_the_sample_of_options_may_be_set():
    lines = _SAMPLED.read_text().splitlines()
    sampled = {line.removeprefix("namespace = ") for line in lines if line.startswith("namespace")}
    assert sampled == {"roost", *LIBRARIES}


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("compute.vcpu=1", "there is no option compute.vcpu$"),
        ("conductor.max_atempts=1", "no option conductor.max_atempts; did you mean conductor.max_"),
        ("computes.virt_driver=fake", "did you mean compute.virt_driver?"),
        ("default.debug=1", "did you mean DEFAULT.debug?"),
    ],
)
def test_a_setting_that_no_daemon_reads_is_refused(setting, told):
    with pytest.raises(exception.Invalid, match=told):
        parse_settings(["DEFAULT.debug=true", setting])
