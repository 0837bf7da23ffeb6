import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost import exception
from roost.db.patterns import Pattern


@pytest.mark.parametrize(
    ("said", "like"),
    [
        ("web", "%web%"),
        ("^web", "web%"),
        ("web$", "%web"),
        ("^web$", "web"),
        ("a.*b", "%a%b%"),
        ("a.b", "%a_b%"),
        (r"a\.b", "%a.b%"),
        ("100%", r"%100\%%"),
        ("a_b", r"%a\_b%"),
        (r"5\$", "%5$%"),
        ("", "%%"),
        ("^", "%"),
    ],
)
def test_what_sql_can_say_is_said_in_sql(said, like):
    assert Pattern.of(said) == Pattern(like, said, is_exact=True)


@pytest.mark.parametrize(
    ("said", "like"),
    [
        ("^web-[0-9]+$", "web-%"),
        ("web[0-9]", "%web%"),
        ("^web-?1", "web%"),
        ("^web-*", "web%"),
        ("^web{2}", "we%"),
        ("^web+", "web%"),
        (r"^a_b\.c(d|e)", "%"),
        (r"^a_b\.c(d)", r"a\_b.c%"),
        ("^a|b", "%"),
        (r"^\Qa.b\E", "%"),
        (r"\d", "%%"),
        ("(?i)web", "%%"),
        ("^^web", "%"),
    ],
)
def test_of_other_patterns_sql_says_how_they_begin(said, like):
    assert Pattern.of(said) == Pattern(like, said, is_exact=False)


def test_an_address_is_looked_for_from_its_beginning():
    def like(said):
        return Pattern.of(said, from_start=True).like

    assert (like("10.0"), like("^10.0"), like(r"10\.0\.[12]")) == ("10_0%", "10_0%", "10.0.%")


@pytest.mark.parametrize(
    ("said", "text", "fits"),
    [
        ("a.*b", "xaxb", True),
        ("a.*b", "xbxa", False),
        ("^a.c$", "aBc", True),
        ("^a.c$", "a\nc", True),
        ("a_c", "abc", False),
        ("", "", True),
        ("b$", "aB", True),
        ("a", None, False),
        ("^(web|db)-[0-9]{2}$", "DB-07", True),
        ("^(web|db)-[0-9]{2}$", "db-7", False),
        (r"^\w+$", "grün", False),
        ("gr[üu]n", "GRÜN", True),
        ("a$", "a\n", False),
    ],
)
def test_a_text_fits_or_does_not(said, text, fits):
    assert Pattern.of(said).fits(text) is fits


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[a(", "missing ]"),
        ("\\", "trailing"),
        ("*a", "no argument for repetition"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape"),
        ("a{1001}", "invalid repetition size"),
        ("(((a{99}){9}){1}", "missing )"),
        ("[^a]{900}" * 20, "too large"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(said, why):
    with pytest.raises(exception.Invalid, match=re.escape(why)):
        Pattern.of(said)


def test_an_address_cannot_escape_from_its_beginning():
    with pytest.raises(exception.Invalid):
        Pattern.of("a)|(b", from_start=True)


@pytest.mark.parametrize("said", ["(a|aa)+b", "(a*)*b", "a.*" * 80 + "b", "(.*)(.*)(.*)(.*)[bc]"])
def test_an_expression_made_to_be_slow_is_not(said):
    began = time.monotonic()
    assert not Pattern.of(said).fits("a" * 255)
    assert time.monotonic() - began < 1


def _sql_like(pattern, text):
    """Match as SQL's ILIKE does."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    said = {"%": ".*", "_": "."}
    inner = "".join(said.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(inner, text, re.DOTALL | re.IGNORECASE) is not None


_PIECES = ["a", "b", "%", "_", ".", ".*", "^", "$", "[ab]", "a?", "b*", "(a|b)", "|", r"\.", r"\w"]


@given(
    said=st.lists(st.sampled_from(_PIECES), max_size=6).map("".join),
    text=st.text("abAB%_.", max_size=6),
)
def test_what_sql_selects_has_all_that_fits(said, text):
    try:
        pattern = Pattern.of(said)
    except exception.Invalid:
        return
    selected = _sql_like(pattern.like, text)
    assert selected if pattern.fits(text) else not (selected and pattern.is_exact)
