import pytest

from roost.api import microversions


@pytest.mark.parametrize(
    ("header", "legacy", "minor"),
    [
        (None, None, 1),
        ("compute 2.47", None, 47),
        ("identity 3.6, compute 2.26", None, 26),
        ("COMPUTE 2.26", None, 26),
        ("volume 3.1", None, 1),
        ("volume 3.1", "2.5", 5),
        ("compute 2.26", "2.5", 26),
        (None, "2.5", 5),
        (None, "latest", 104),
        ("compute latest", None, 104),
    ],
)
def test_the_newer_header_decides_and_the_minimum_is_what_nobody_asks_for(header, legacy, minor):
    assert microversions.negotiate(header, legacy) == minor


@pytest.mark.parametrize(
    "asked", ["compute", "compute two", "compute 2", "compute 2.1.3", "compute 2.٣"]
)
def test_what_is_no_version_is_malformed(asked):
    with pytest.raises(microversions.Malformed):
        microversions.negotiate(asked, None)


@pytest.mark.parametrize("asked", ["compute 2.105", "compute 3.1", "compute 1.1", "compute 2.0"])
def test_a_version_out_of_range_is_not_offered(asked):
    with pytest.raises(microversions.NotOffered):
        microversions.negotiate(asked, None)
