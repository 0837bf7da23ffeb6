"""Options read from files."""

import pytest
from oslo_config import cfg

from roost import conf


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "roost.conf"
        path.write_text(text)
        return conf.load([], files=[str(path)])

    return read


def test_a_file_says_otherwise_than_the_default(read):
    said = read("[DEFAULT]\nservice_down_time = 33\n")
    assert (said.service_down_time, said.rpc_threads) == (33, conf.of({}).rpc_threads)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("instance-%08x", "can have %.uuid.s and %.hostname.s; servers have no number"),
        ("%(id)s-%(uuid)s", "no number or else ..id"),
        ("%(uuid", "incomplete format"),
        ("vm", "must have %.uuid.s, or servers would have one name"),
        ("%(hostname)s", "must have %.uuid.s"),
        ("%(uuid).8s", "must have %.uuid.s"),
        ("a/%(uuid)s", "no slash"),
        (f"{'n' * 165}%(uuid)s", "at most 200"),
    ],
)
def test_names_of_guests_that_cannot_be_or_are_not_of_one_server_are_refused(read, template, why):
    with pytest.raises(cfg.ConfigFileValueError, match=f"instance_name_template.*{why}"):
        read(f"[DEFAULT]\ninstance_name_template = {template}\n").instance_name_template  # noqa: B018


def test_what_is_no_time_is_named_with_its_file(read):
    with pytest.raises(cfg.ConfigFileValueError, match=r"service_down_time.*roost\.conf.*soon"):
        read("[DEFAULT]\nservice_down_time = soon\n").service_down_time  # noqa: B018
