"""``roost-manage placement simulate`` on traces that are small enough to think through."""

import json

import pytest
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from roost.scheduler.simulation import plot

# Two hosts of 4 cores and 8 of ram. Small VMs come at 0 and 1, a large one at 2, while they stay.
VMS = ("0,10,2,2", "1,10,2,4", "2,8,4,8", "10,inf,1,1")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "trace.csv").write_text("\n".join(("arrival,departure,cores,ram", *VMS)))
    hosts = {"hosts": [{"count": 2, "cores": 4, "ram": 8}]}
    (tmp_path / "inventory.json").write_text(json.dumps(hosts))
    (tmp_path / "empty.conf").write_text("")
    return tmp_path


@pytest.fixture
def simulate(files):
    """Run the command on the small trace; ``.json`` is the parsed answer."""

    def run(*options, code=0):
        command = ["--config-file", str(files / "empty.conf"), "placement", "simulate"]
        command += [str(files / "trace.csv"), str(files / "inventory.json"), *map(str, options)]
        result = CliRunner().invoke(roost_manage, command)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def runs(simulate):
    return lambda *options: json.loads(simulate("--json", *options).stdout)["runs"]


def test_profiles_are_compared_side_by_side(runs):
    found = runs("--profile", "pack", "--profile", "spread")

    assert list(found) == ["pack", "spread"]
    assert (found["pack"]["placed"], found["pack"]["failed"]) == (4, 0)
    assert (found["spread"]["placed"], found["spread"]["failed"]) == (3, 1)
    assert found["spread"]["failed_amounts"] == {"cores": 4.0, "ram": 8.0}
    assert found["spread"]["reasons"] == {"not enough memory": 1}


def test_drivers_are_compared_and_chance_is_tried_once(runs):
    found = runs(
        "--driver", "filter", "--driver", "chance", "--profile", "pack", "--profile", "none"
    )

    assert list(found) == ["filter pack", "filter none", "chance"]


def test_what_is_configured_is_what_is_tried(simulate, files):
    (files / "empty.conf").write_text("[scheduler]\nweighers = cpu=-1.0\nfilters = ram\n")

    found = json.loads(simulate("--json").stdout)["runs"]

    assert list(found) == ["cpu=-1.0"]


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (("--driver", "nope"), 1, "there is no nope"),
        (("--weighers", "nope=1"), 1, "there is no nope"),
        (("--weighers", "ram=much"), 1, "'ram=much' must be a name, =, and a number"),
        (("--profile", "nope"), 2, "'nope' is not one of"),
        (("--column", "colour=red"), 2, "'colour' must be one of arrival, departure"),
        (("--column", "arrival"), 2, "then = and a column's name"),
        (("--column", "arrival=nope"), 1, "there is no column 'nope'"),
        (("--reference", "1"), 2, "must be cores, comma, ram"),
        (("--reference", "1,x"), 2, "'x' is not a number"),
        (("--since", "5", "--until", "4"), 2, "--since 5 is after --until 4"),
        (("--csv", "/nowhere/out.csv"), 1, "/nowhere/out.csv"),
    ],
)
def test_mistakes_are_told(simulate, options, code, complaint):
    assert complaint in simulate(*options, code=code).stderr


def test_a_plot_without_matplotlib_is_refused_before_any_work(simulate, files, monkeypatch):
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: None)

    told = simulate("--plot", files / "out.png", code=1)

    assert "pip install 'roost[plot]'" in told.stderr
    assert not told.stdout
