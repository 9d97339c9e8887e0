"""Names that patterns have in common, against the patterns themselves."""

import re
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mirror.policy.java_regex import JavaPattern, compile_java
from mirror.policy.name_automaton import automaton, has_common_name

NAMES = ["".join(letters) for length in (1, 2, 3) for letters in product("ab.-7", repeat=length)]
EXPRESSIBLE = [
    *("a", "a.b", r"a\.b", "a*", "a+b?", "a{2}", "a{1,}b", "[ab]{2,3}", "(a|b.)*", "(?:ab)+", "[^a]b", "[^-b].", r"[\d.]+", r"\d+", r"\W"),
    *(
        r"\Qa.\E",
        "(?i)A.",
        "(?i:A)b",
        "(a(?i)B)B?",
        "(?i)(A)b",
        "(?i)A(?-i)b",
        "(?i)[^A]",
        "(a+)*b",
        "(a|)b",
        "a??b",
        "a{0}b",
        "a|",
        "|b|",
        r"\x61.",
    ),
    *("^a.*b$", "(?i)^A$", "^a|b$", r"\p{Alpha}", "a{250}|b", r"[^\w\W]|a"),
]
BEYOND = [
    *(
        "(?=a)..",
        "(?!a).*",
        "(?<=a)b",
        r"\p{Alpha}(?<!b)",
        "(?!a)(.|..)",
        "((?!b).)*",
        "(?=(a|b).)[a7]+",
        "((?<=a)b|a)+",
        "(?=a)?b",
        "(?i)A(?=B).",
    ),
    *("(^a)", "a(^b)", "(a$)b", "a$b", "(a|b$)", "a*^b", "a$|(b$).?", "(^|a)?b", "b$?"),
]
REFUSED = [
    *(
        "(?<first>a)b",
        "[a-z&&[^b]].",
        "(a*)*b",
        r"\Aab\z",
        "(?x) a b # and no more",
        r"(a|b)\1",
        r"a\b.*",
        "a*+b",
        "(?>a|ab).",
        "((?i)A)b*+",
    ),
    *("(a", "a)", "*a", "(?i)*", "[b-a]", r"\g", "(?<=a+)b", "a{2,1}"),
]

ATOMS = [
    *(
        "a",
        "b",
        "B",
        "-",
        ".",
        r"\.",
        "ab",
        "[ab]",
        "[^a]",
        "[A-a]",
        r"[\d-]",
        r"[^\w.]",
        r"\d",
        r"\D",
        r"\W",
        r"\p{Lower}",
        r"\x61",
        r"\Qa.\E",
    ),
    *("(?i)", "(?-i)"),
]
AROUND = ["(?=a)", "(?!b)", "(?!.*7)", "(?<=a)", "(?<!-b|b)", "^", "$"]
COUNTS = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,}", "{0,2}", "{1,2}?", "{0}"]
SOME_NAMES = st.lists(st.text("abAB.-7", min_size=1, max_size=6), min_size=1, max_size=12)


def patterns(atoms: list[str], openings: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.builds(str.__add__, st.sampled_from(atoms), st.sampled_from(COUNTS)),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=4).map("".join)
            | st.lists(inner, min_size=2, max_size=3).map("|".join)
            | st.builds("{}{}){}".format, st.sampled_from(openings), inner, st.sampled_from(COUNTS))
        ),
        max_leaves=8,
    )


def takes(pattern: str, wide: bool, name: str) -> bool:
    return has_common_name([automaton(pattern, wide), automaton(rf"\Q{name}\E", True)], [])


def compiled(pattern: str) -> JavaPattern:
    try:
        return compile_java(pattern)
    except ValueError:
        assume(False)
        raise


@pytest.mark.parametrize("pattern", EXPRESSIBLE)
@pytest.mark.parametrize("wide", [True, False])
def test_an_expressible_pattern_takes_exactly_the_names_that_it_matches(pattern: str, wide: bool) -> None:
    assert [name for name in NAMES if takes(pattern, wide, name)] == [name for name in NAMES if compile_java(pattern).matches(name)]


@pytest.mark.parametrize("pattern", BEYOND)
def test_what_no_automaton_expresses_is_taken_for_more_or_for_nothing_as_asked(pattern: str) -> None:
    for name in NAMES:
        assert takes(pattern, False, name) <= compile_java(pattern).matches(name) <= takes(pattern, True, name)


@given(patterns(ATOMS, ["(", "(?:", "(?i:", "(?-i:"]), SOME_NAMES)
def test_any_pattern_without_look_around_takes_exactly_the_names_that_it_matches(pattern: str, names: list[str]) -> None:
    expected = [compiled(pattern).matches(name) for name in names]
    assert [takes(pattern, True, name) for name in names] == [takes(pattern, False, name) for name in names] == expected


@given(patterns([*ATOMS, *AROUND], ["(", "(?:", "(?i:", "(?=", "(?!"]), SOME_NAMES)
def test_any_pattern_that_is_taken_has_the_names_that_it_matches_between_its_two_automata(pattern: str, names: list[str]) -> None:
    java = compiled(pattern)
    for name in names:
        assert takes(pattern, False, name) <= java.matches(name) <= takes(pattern, True, name)


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_is_refused_has_no_automaton(pattern: str) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_java(pattern)
    with pytest.raises(ValueError, match=re.escape(str(refusal.value))):
        automaton(pattern, True)


def test_what_would_take_too_long_to_find_out_counts_as_a_common_name() -> None:
    assert has_common_name([automaton(".*a.{30}b", True), automaton(".*a.{30}c", True)], [])


def test_a_pattern_too_large_for_an_automaton_is_taken_for_anything_or_for_nothing_as_asked() -> None:
    assert takes("((a{99}){99}){99}", True, "b")
    assert not takes("((a{99}){99}){99}", False, "a" * 200)
