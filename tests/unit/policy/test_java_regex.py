"""Java's regular expressions: what `java.util.regex` of JDK 17 answered to the same questions, or a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy import java_regex
from kafka_mirror.policy.java_regex import compile_java

# What stands in the files of people who use MirrorMaker 2: a text that it matches, and one that it does not.
IN_USE = {
    ".*": ("orders", None),
    "orders": ("orders", "orders2"),
    "topic-.*": ("topic-1", "topics"),
    "orders|payments|clicks": ("clicks", "click"),
    "orders.*|pay.*": ("payments", "xorders"),
    "(orders|payments)": ("orders", "orderspayments"),
    "^orders.*$": ("orders-eu", "my-orders"),
    "(?!internal).*": ("orders", "internal-x"),
    "(?!.*-dlq$).*": ("orders", "orders-dlq"),
    "^(?!(_|connect-|mm2-)).+": ("orders", "connect-configs"),
    "((?!internal).)*": ("orders", "my-internal-topic"),
    ".*(?<!-dlq|-retry)": ("orders", "orders-retry"),
    "(?=orders).*eu.*": ("orders-eu", "clicks-eu"),
    r"[a-z]+\.v\d": ("orders.v1", "orders-v1"),
    r"[a-z]+\.v\d+": ("orders.v12", "orders.v"),
    r".*[\-\.]internal": ("mm2-offset-syncs.b.internal", "internal"),
    r"mm2.*\.internal": ("mm2-offsets.a.internal", "mm2-offsets.a-internal"),
    r".*\.replica": ("orders.replica", "orders-replica"),
    "__.*": ("__consumer_offsets", "_schemas"),
    "_.*": ("_schemas", "orders"),
    "(?i)orders.*": ("Orders-EU", "clicks"),
    "(?i:orders)-eu": ("ORDERS-eu", "orders-EU"),
    "(?i)[a-f]+-x": ("AbC-X", "g-x"),
    r"[A-Za-z0-9._-]+": ("Orders_1.2-x", "orders x"),
    r"[\w.-]+": ("Orders_1.2-x", "orders:x"),
    r"[\w-]+": ("orders-x", "orders.x"),
    r"[^.]+\.[^.]+": ("eu.orders", "eu.orders.v1"),
    r"\w+-\d{4}": ("orders-2026", "orders-26"),
    r"orders-\d{1,3}": ("orders-12", "orders-1234"),
    r"orders(-v\d+)?": ("orders-v2", "orders-v"),
    r"(prod|stage)\.(orders|clicks)\..+": ("prod.clicks.a", "dev.clicks.a"),
    r"(eu|us)-(?:[a-z]+-)*events": ("eu-a-b-events", "eu-ab"),
    r"\Qa.b\E.*": ("a.b-c", "axb"),
    r"connect-[0-9]+": ("connect-7", "connect-x"),
    "console-consumer-.*": ("console-consumer-1", "consumer"),
    r"^(?:.*[._-])?orders(?:[._-].*)?$": ("eu.orders-v1", "reorders"),
    r".+?\.[0-9]+": ("a.1", "a1"),
    r"\p{Alnum}+": ("a1", "a-1"),
    r"[\p{Lower}\d]+": ("a1", "A1"),
    "grüße.*": ("grüße-1", "GRÜSSE"),
    "": ("", "a"),
    "a|": ("", "b"),
}

# Pattern, whole texts that it matches, texts that it does not; recorded from java.util.regex.Pattern.
GOLDEN = [
    (".", ["a", "\x0b", "\U0001f600"], ["\n", "\r", "\x85", "\u2028"]),
    ("a$", ["a"], ["a\n"]),
    ("a$\\n", ["a\n"], ["a"]),
    ("a$\\r\\n", ["a\r\n"], []),
    ("a\\r$\\n", [], ["a\r\n"]),
    ("^", [""], []),
    ("\\Qa.b\\E.", ["a.bx"], ["axbx"]),
    ("\\Qa.b", ["a.b"], ["axb"]),
    ("\\Qab\\E+", ["abb"], ["abab"]),
    ("[\\Q^]\\E]", ["^", "]"], ["a"]),
    ("\\Qa\\\\E", ["a\\"], ["aE"]),
    ("[a&b]", ["a", "&"], ["c"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[\\w-a]", ["-", "z"], ["!"]),
    ("[+--]", [",", "-"], ["."]),
    ("[a^]", ["^", "a"], ["b"]),
    ("[^a]|[^\xe9]", ["a", "\xe9", "b"], []),
    ("[^\\d\\w]|\\D", ["a", "-"], ["1"]),
    ("[^\\w\\W]|a", ["a"], ["-"]),
    ("\\d", ["7"], ["\u0663"]),
    ("\\w", ["_"], ["\xe9"]),
    ("\\s", [" ", "\x0b"], ["\xa0", "\x85", "\x1c"]),
    ("\\W", ["\xe9"], ["a"]),
    ("\\p{Alpha}", ["a"], ["\xe9"]),
    ("\\p{Lower}", ["a"], ["A", "\xe9"]),
    ("(?i)\\p{Lower}", ["a", "A"], ["1"]),
    ("a*a", ["aaa"], []),
    ("a{0}", [""], ["a"]),
    ("(?i)a", ["A"], []),
    ("(?i)k", ["K"], ["\u212a"]),
    ("(?i)\xe9", [], ["\xc9"]),
    ("a(?i)b", ["aB"], ["AB"]),
    ("(?i:a)b", ["Ab"], ["AB"]),
    ("(a(?i)b|c)d", ["aBd", "Cd"], ["abD"]),
    ("(?i)(a)b", ["AB"], []),
    ("(?i)a(?-i)b", ["Ab"], ["aB"]),
    ("(?i)[^a]", ["b"], ["A"]),
    ("a(?=b).", ["ab"], ["ac"]),
    ("a(?!b).", ["ac"], ["ab"]),
    (".(?<=a)b", ["ab"], ["cb"]),
    (".(?<!a)b", ["cb"], ["ab"]),
    ("(^|x)?a", ["a", "xa"], ["ya"]),
    ("\\a\\e\\f\\t", ["\x07\x1b\x0c\t"], []),
    ("\\x41\\x{42}\\u0043", ["ABC"], []),
    ("\\_\\-\\.\\\xe9", ["_-.\xe9"], []),
    ("a}]", ["a}]"], []),
]

# Patterns that java.util.regex.Pattern refuses.
REFUSED = [
    *("(", ")", "a)", "[a", "[]", "[^]", "[b-a]", "a**", "*a", "a{", "a{,2}", "a{2,1}", "a{1,", "\\", "\\g", "\\E", "\\x4", "\\x{110000}"),
    *("\\u12", "\\0", "\\08", "\\c", "\\p{Foo}", "\\p{L", "\\p{InNope}", "\\p{lu}", "\\p{IsLat#}", "\\p{script=}", "(?<n>a)(?<n>b)"),
    *("(?<1>a)", "\\k<n>", "(?P<n>a)", "(?#x)", "(?i", "(?i)*", "[\\b]", "[&&]", "[a-\\d]", "\\N{NOPE}", "(?<=(ab)*)c", "(a)(?<=\\1)"),
]

# What Java takes and we refuse rather than risk another answer: the construct, and a word of what to write instead.
UNSUPPORTED = {
    r"(?s)a.b": "(?i)",
    r"(?x) a": "(?i)",
    r"(?iu)grüße": "(?i)",
    r"(?U)\w+": "(?i)",
    r"(?<name>a)": "(?:x)",
    r"(?>a|ab)c": "a plain one",
    r"a*+b": "one of * + ?",
    r"(a|ab){2}+c": "one of * + ?",
    r"(orders|orders-v2){1}+": "one of * + ?",
    r"a{2}{3}": "one of * + ?",
    r"-(?i){2}": "one of * + ?",
    r"a{1000}": "up to 999",
    r"(a*)*": "a character into each",
    r"((?=b)|b){2}": "a character into each",
    r"^*a": "a character into each",
    r"(?<=a+)b": "(?<!_dlq|[._-]retry)",
    r"(?<=.)b": "(?<!_dlq|[._-]retry)",
    r"(?<=^a)b": "(?<!_dlq|[._-]retry)",
    r"(?<!(?=a))b": "(?<!_dlq|[._-]retry)",
    r"(?<!\D)b": "(?<!_dlq|[._-]retry)",
    r"(a)\1": "spell out",
    r"\borders\b": "([._-].*)?",
    r"\p{L}+": "[A-Za-z]",
    r"\p{IsLatin}": "[A-Za-z]",
    r"(?i)\P{Lower}": "[A-Za-z]",
    r"[a-z&&[^b]]": "(?![bc])[a-z]",
    r"[a[b-d]]": r"\[",
    r"[]a]": "a flat list",
    r"\z": "itself",
    r"\0101": "itself",
    r"\uD83D\uDE00": "itself",
}


@pytest.mark.parametrize("pattern", IN_USE)
def test_takes_what_people_write(pattern: str) -> None:
    matching, other = IN_USE[pattern]
    compiled = compile_java(pattern)
    assert compiled.matches(matching)
    assert other is None or not compiled.matches(other)


@pytest.mark.parametrize(("pattern", "matching", "other"), GOLDEN)
def test_matches_whole_texts_as_java_does(pattern: str, matching: list[str], other: list[str]) -> None:
    compiled = compile_java(pattern)
    assert [text for text in matching + other if compiled.matches(text)] == matching


@pytest.mark.parametrize("pattern", REFUSED)
def test_refuses_with_a_reason_what_java_refuses(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        compile_java(pattern)


@pytest.mark.parametrize("pattern", UNSUPPORTED)
def test_refuses_what_might_mean_something_else_and_says_what_to_write(pattern: str) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_java(pattern)
    assert UNSUPPORTED[pattern] in str(refusal.value)


def test_a_name_that_takes_too_long_is_an_error_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_regex, "_SECONDS", 0.05)
    endless = compile_java("(a|aa|a.)+(b|bb)+c")
    with pytest.raises(ConfigurationError) as error:
        endless.matches("a" * 249)
    assert "(a|aa|a.)+(b|bb)+c" in str(error.value)
    assert "no repetition inside a repetition" in str(error.value)


def test_deeply_nested_groups_are_refused_or_matched() -> None:
    for depth in (50, 5000):
        pattern = "(" * depth + "a" + ")" * depth
        try:
            assert compile_java(pattern).matches("a")
        except ValueError as refusal:
            assert "cannot be translated" in str(refusal)


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: r"\E" not in text))
def test_a_quoted_text_matches_itself_alone(text: str) -> None:
    quoted = compile_java(rf"\Q{text}\E")
    assert quoted.matches(text)
    assert not quoted.matches(text + "x")


@given(st.text(alphabet=r"ab1.\\[]^-&()?*+{}|$<>=!:iQEdwpL, ", max_size=14))
def test_any_text_is_a_pattern_or_a_value_error(pattern: str) -> None:
    try:
        compile_java(pattern).matches("ab1")
    except ValueError as refusal:
        assert str(refusal)
