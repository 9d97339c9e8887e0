import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue.values import FACTOR, allow_one_of, between, parse_list, parse_value, regexes


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False), (" True\t", True)])
def test_booleans_are_trimmed_and_of_any_case(text, value):
    assert parse_value("BOOLEAN", text) is value


@pytest.mark.parametrize("text", ["", "yes", "1", "true false", "\u00a0true"])
def test_other_words_are_no_booleans(text):
    with pytest.raises(ValueError, match="must be true or false"):
        parse_value("BOOLEAN", text)


@pytest.mark.parametrize(
    ("type_", "least", "most"), [("SHORT", -(2**15), 2**15 - 1), ("INT", -(2**31), 2**31 - 1), ("LONG", -(2**63), 2**63 - 1)]
)
def test_integers_keep_to_their_size(type_, least, most):
    assert parse_value(type_, f" {least} ") == least
    assert parse_value(type_, f"+{most}") == most
    for beyond in (least - 1, most + 1):
        with pytest.raises(ValueError, match="whole number"):
            parse_value(type_, str(beyond))


@pytest.mark.parametrize("text", ["", "1.0", "1e3", "1_000", "0x10", "\u0661", "1 000", "--1"])
def test_other_texts_are_no_integers(text):
    with pytest.raises(ValueError, match="whole number of 64 bits"):
        parse_value("LONG", text)


@pytest.mark.parametrize("type_", ["STRING", "PASSWORD", "CLASS"])
def test_texts_are_trimmed(type_):
    assert parse_value(type_, " a b\t") == "a b"


@pytest.mark.parametrize(
    ("text", "members"),
    [("", ()), ("  ", ()), ("a", ("a",)), (" a , b\t,\n c ", ("a", "b", "c")), ("a,b,a", ("a", "b")), ("a b,c", ("a b", "c"))],
)
def test_lists_are_split_at_commas_and_lose_their_duplicates(text, members):
    assert parse_list(text) == members


@pytest.mark.parametrize("text", [",", "a,", ",a", "a,,b", "a, ,b"])
def test_an_empty_member_is_an_error(text):
    with pytest.raises(ValueError, match="empty member"):
        parse_list(text)


@given(st.lists(st.text("ab.*", min_size=1), unique=True), st.sampled_from([",", " , ", ",\n"]))
def test_a_joined_list_is_split_again(members, separator):
    assert parse_list(separator.join(members)) == tuple(members)


def test_valid_values():
    assert between(1, 3).check(3) is None
    assert between(1, 3).check(4) == "must be 1 to 3"
    assert between(10).check(9) == "must be at least 10"
    assert allow_one_of("a", "b").check("c") == "must be a or b"
    assert allow_one_of("a", "b").check(("a", "c")) == "must be a or b"
    assert FACTOR.check(-1) is None
    assert FACTOR.check(0) is not None


def test_regexes_are_judged_joined_as_mm2_joins_them_and_the_wrong_one_is_named():
    assert regexes("topic").check(("orders", r"a{1}", r"\p{Alpha}+")) is None
    assert regexes("topic").check(("(a", "b)")) is None
    assert "'a('" in str(regexes("topic").check(("b", "a(")))
    # The comma has split a{1,2}; each half alone is what Java refuses.
    assert regexes("topic").check(("a{1", "2}")) is not None
