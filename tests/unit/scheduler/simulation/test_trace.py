import gzip
import math

import pytest

from roost import exception
from roost.scheduler.simulation import trace
from tests.unit.scheduler.simulation.sample_files import a_trace


def test_vms_come_in_order_of_arrival_wherever_they_are_in_the_file(tmp_path):
    read = a_trace(tmp_path, "5,9,1,1", "-1,inf,2,4", "0,3,1,1")

    assert read.arrivals.tolist() == [-1, 0, 5]
    assert read.departures.tolist() == [math.inf, 3, 9]
    assert [read.kinds[kind].cores for kind in read.kind_of] == [2000, 1000, 1000]


def test_columns_are_found_by_the_names_that_are_told(tmp_path):
    columns = {"arrival": "born", "group": "tenantId"}
    header = "born,End Time,VCPUs,Memory_MB,start,tenantId"
    read = a_trace(tmp_path, "1,2,3,4,99,blue", header=header, columns=columns)

    assert read.arrivals.tolist() == [1]
    assert read.kinds == [trace.RequestShape(cores=3_000, ram=4_000, group="blue")]


def test_a_trace_may_tell_of_disk_group_zone_and_count(tmp_path):
    header = "arrival,departure,cores,ram,disk,group,zone,count"
    read = a_trace(tmp_path, "0,1,1,2,3,blue,north,4", "0,1,1,2,3,,,1", header=header)

    assert read.kinds == [
        trace.RequestShape(1000, 2000, 3000, vms=4, zone="north", group="blue"),
        trace.RequestShape(1000, 2000, 3000),
    ]
    assert read.amounts().tolist() == [[4000, 1000], [8000, 2000], [12000, 3000]]


def test_real_numbers_are_counted_in_thousandths_and_rounded_up(tmp_path):
    read = a_trace(tmp_path, "0,1,0.07,1e-9")

    assert read.kinds == [trace.RequestShape(cores=70, ram=1)]


def test_a_gzipped_trace_reads_like_any_other(tmp_path):
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(b"arrival,departure,cores,ram\r\n0,1,2,4\r\n"))

    assert len(trace.read(path)) == 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("0,1,two,4", "line 3: column cores: 'two' is not a number"),
        ("0,1,,4", "line 3: column cores: '' is not a number"),
        ("0,1,-2,4", "line 3: column cores: '-2' is not between 0 and"),
        ("0,1,nan,4", "line 3: column cores: 'nan' is not a finite number"),
        ("0,1,2,1e30", "line 3: column ram: '1e30' is not between 0 and"),
        ("soon,1,2,4", "line 3: column arrival: 'soon' is not a time"),
        (",1,2,4", "line 3: column arrival: '' is not a time"),
        ("-inf,1,2,4", "line 3: column arrival: a VM must arrive at some time"),
        ("0,nan,2,4", "line 3: column departure: 'nan' is not a time"),
        ("5,1,2,4", "line 3: a VM departs at 1, before it arrives at 5"),
        ("0,1,2", "line 3: column ram is missing: the line has 3 columns"),
        ('0,1,2,"4', "cannot be read: unexpected end of data"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(tmp_path, line, complaint):
    with pytest.raises(exception.Invalid) as error:
        a_trace(tmp_path, "0,1,1,1", line)

    assert complaint in error.value.message
    assert "trace.csv" in error.value.message


def test_more_than_can_be_counted_is_refused(tmp_path):
    header = "arrival,departure,cores,ram,count"
    with pytest.raises(exception.Invalid, match="more than can be counted"):
        a_trace(tmp_path, *["0,1,1,1e12,10000"] * 2, header=header)


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "x", ""])
def test_a_count_is_a_whole_number(tmp_path, count):
    with pytest.raises(exception.Invalid, match="column count"):
        a_trace(tmp_path, f"0,1,1,1,{count}", header="arrival,departure,cores,ram,count")


def test_a_missing_column_is_named_and_how_to_name_another(tmp_path):
    with pytest.raises(exception.Invalid) as error:
        a_trace(tmp_path, "0,1,1", header="born,died,cores")

    assert "line 1: no column is named like arrival or departure or ram" in error.value.message
    assert "there are born, died, cores" in error.value.message
    assert "arrival=NAME" in error.value.message


def test_a_column_that_was_told_must_be_there(tmp_path):
    with pytest.raises(exception.Invalid, match="there is no column 'born'"):
        a_trace(tmp_path, "0,1,1,1", columns={"arrival": "born"})


BROKEN = {"cut": gzip.compress(b"arrival,departure\n" * 99)[:-9], "plain": b"plain"}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_gzip_file_is_told(tmp_path, content):
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(content)

    with pytest.raises((exception.Invalid, OSError)):
        trace.read(path)
