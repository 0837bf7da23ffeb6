import pytest

from roost.hardware import spec_language


@pytest.mark.parametrize(
    ("requirement", "value", "meets"),
    [
        ("gold", "gold", True),
        ("gold", "golden", False),
        ("", "", True),
        ("= 2", "2", True),
        ("= 2", "3.5", True),
        ("= 2", "1", False),
        ("== 2", "2.0", True),
        ("== 2", "3", False),
        ("!= 2", "3", True),
        (">= 2", "10", True),
        ("<= 2", "10", False),
        ("<= 2", "many", False),
        ("== many", "2", False),
        ("==", "2", False),
        ("s== ab", "ab", True),
        ("s!= ab", "ab", False),
        ("s< ab", "aa", True),
        ("s<= ab", "ab", True),
        ("s> ab", "b", True),
        ("s>= ab", "aa", False),
        ("<in> av", "avx2", True),
        ("<in> avx512", "avx2", False),
        ("<all-in> aes avx", "avx2 aes", True),
        ("<all-in> aes avx", "avx2", False),
        ("<or> gold <or> silver", "silver", True),
        ("<or> gold <or> silver", "tin", False),
        ("<or> old gold", "old gold", True),
        (">=2", ">=2", True),
        (">=2", "3", False),
    ],
)
def test_a_value_meets_a_requirement_or_not(requirement, value, meets):
    assert spec_language.parse(requirement)(value) is meets


def test_scopes_are_told_apart():
    specs = {"ssd": "true", "hw:cpu_policy": "shared", "hw:a:b": "1", "hws:x": "2"}
    assert spec_language.scoped(specs, "hw") == (("a:b", "1"), ("cpu_policy", "shared"))
    assert spec_language.unscoped(specs) == (("ssd", "true"),)
