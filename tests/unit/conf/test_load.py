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


def test_what_is_no_time_is_named_with_its_file(read):
    with pytest.raises(cfg.ConfigFileValueError, match=r"service_down_time.*roost\.conf.*soon"):
        read("[DEFAULT]\nservice_down_time = soon\n").service_down_time  # noqa: B018
