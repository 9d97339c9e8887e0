"""Which patterns no name can match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.possible_names import ANY_TEXT, IN_NAMES, LONGEST, impossible

PIECES = ["a", "B", "7", "-", "_", r"\.", ".", "[a-c]", "[^a]", r"\d", r"\W", '"', "'", " ", "\r", ",", "é", r"\[", "[ -]", "[ !]"]
NAMES = st.text(alphabet="aBc7-_.", min_size=1, max_size=6)


@st.composite
def patterns(draw, pieces=tuple(PIECES), depth=2):
    """Patterns of pieces, groups, alternatives and counts."""
    alternatives = []
    for _ in range(draw(st.integers(1, 2))):
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            is_group = depth and draw(st.integers(0, 3)) == 0
            part = f"({draw(patterns(pieces, depth - 1))})" if is_group else draw(st.sampled_from(pieces))
            parts.append(part + draw(st.sampled_from(["", "", "", "?", "{2}", "*", "+", "{0,2}"])))
        alternatives.append("".join(parts))
    return "|".join(alternatives)


def takes(pattern):
    try:
        compile_java(pattern)
    except ValueError:
        return False
    return True


@given(patterns((*PIECES, "^", "$", "(?=x)", "(?!a)")).filter(takes), NAMES)
def test_a_pattern_that_matches_some_name_is_possible(pattern, name):
    if compile_java(pattern).matches(name):
        assert impossible(pattern, IN_NAMES, LONGEST) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ('"orders', "'\"' cannot stand there"),
        ("'orders'", "''' cannot stand there"),
        ("orders payments", "' ' cannot stand there"),
        (".*\replica", r"'\r' cannot stand there"),
        (r"orders\[0\]", r"'\[' cannot stand there"),
        ("orders;payments", "';' cannot stand there"),
        ("orders/payments", "'/' cannot stand there"),
        ("$ENV-orders", "'E' cannot stand there"),
        ("orders-($ENV|^x)", "'E' cannot stand there"),
        ("orders^", "'^' cannot stand there"),
        ("[ ,]orders|#.*", "'[ ,]' cannot stand there"),
        ("é.*", "'é' cannot stand there"),
        ("(ab){125}", "it takes 250 characters at least, and a name has at most 249"),
    ],
)
def test_what_stands_in_no_name_is_named(pattern, why):
    assert impossible(pattern, IN_NAMES, LONGEST) == why


@pytest.mark.parametrize(
    "pattern",
    [
        ".*", "orders", "^orders$", "^(?!__.*$).*", "", "^$", "$^", "(?:)", '"?orders"*', "[^ ]+", r'(orders|"payments")', "(?i)ORDERS",
        r"\Qa.b\E", r"[\"'a]+", "(^a|b)c", "a{249}", "(a$|b)c", "(^a){1}", "a$b?", r"mm2.*\.internal", "(?! ).*", '(?<!")orders',
    ],
)  # fmt: skip
def test_what_may_match_a_name_is_possible(pattern):
    assert impossible(pattern, IN_NAMES, LONGEST) == ""


def test_text_of_any_kind_may_hold_any_character_but_none_stands_behind_its_end():
    for pattern in ('"shop"', "a b", "\r", "日本", "x$\n", "shop-$"):
        assert impossible(pattern, ANY_TEXT) == ""
    for pattern in ("shop-$ENV", "a^b"):
        assert impossible(pattern, ANY_TEXT)
