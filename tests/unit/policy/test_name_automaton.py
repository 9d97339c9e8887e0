"""Names that patterns have in common, against the patterns themselves."""

from itertools import product

import pytest

from mirror.policy.java_regex import compile_java
from mirror.policy.name_automaton import automaton, has_common_name

NAMES = ["".join(letters) for length in (1, 2, 3) for letters in product("ab.-7", repeat=length)]
EXPRESSIBLE = [
    *(
        "a",
        "a.b",
        r"a\.b",
        "a*",
        "a+b?",
        "a{2}",
        "a{1,}b",
        "[ab]{2,3}",
        "(a|b.)*",
        "(?:ab)+",
        "(?<first>a)b",
        "[^a]b",
        "[a-z&&[^b]].",
        r"\d+",
    ),
    *(r"\Qa.\E", "(?i)A.", "(?i:A)b", "(a*)*b", "a??b", "a|", "^a.*b$", r"\Aab\z", "|b|", r"\x61.", "(?x) a b # and no more"),
]
BEYOND = ["(?=a)..", "(?!a).*", "(?<=a)b", r"(a|b)\1", r"a\b.*", "a*+b", "(?>a|ab).", r"\p{Alpha}(?<!b)", "((?i)A)b*+"]


@pytest.mark.parametrize("pattern", EXPRESSIBLE)
@pytest.mark.parametrize("wide", [True, False])
def test_an_expressible_pattern_takes_exactly_the_names_that_it_matches(pattern: str, wide: bool) -> None:
    taken = [name for name in NAMES if has_common_name([automaton(pattern, wide), automaton(rf"\Q{name}\E", True)], [])]
    assert taken == [name for name in NAMES if compile_java(pattern).matches(name)]


@pytest.mark.parametrize("pattern", BEYOND)
def test_what_no_automaton_expresses_is_taken_for_more_or_for_nothing_as_asked(pattern: str) -> None:
    for name in NAMES:
        one, matched = automaton(rf"\Q{name}\E", True), compile_java(pattern).matches(name)
        assert has_common_name([automaton(pattern, True), one], []) >= matched
        assert has_common_name([automaton(pattern, False), one], []) <= matched


def test_what_would_take_too_long_to_find_out_counts_as_a_common_name() -> None:
    assert has_common_name([automaton(".*a.{30}b", True), automaton(".*a.{30}c", True)], [])
