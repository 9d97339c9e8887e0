"""Java's regular expressions: what `java.util.regex` of JDK 17 answered to the same questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.policy.java_regex import compile_java

# Pattern, whole texts that it matches, texts that it does not; recorded from java.util.regex.Pattern.
GOLDEN = [
    ("orders|pay.*", ["orders", "payments"], ["xorders", "orders "]),
    ("a|", ["a", ""], ["b"]),
    ("", [""], ["a"]),
    ("mm2.*\\.internal", ["mm2-x.internal"], ["mm2-xinternal"]),
    (".", ["a", "\x0b", "\U0001f600"], ["\n", "\r", "\x85", "\u2028"]),
    ("(?s).", ["a", "\n"], []),
    ("(?d).", ["\r"], ["\n"]),
    ("a$", ["a"], ["a\n"]),
    ("a$\\n", ["a\n"], ["a"]),
    ("a$\\r\\n", ["a\r\n"], []),
    ("a\\r$\\n", [], ["a\r\n"]),
    ("a\\Z\\n", ["a\n"], []),
    ("a\\z\\n", [], ["a\n"]),
    ("(?m)a$\\nb", ["a\nb"], []),
    ("(?m)^", [], [""]),
    ("(?m)^a|^", ["a"], [""]),
    ("(?m)a\\n^", [], ["a\n"]),
    ("(?md)^", [], [""]),
    ("^", [""], []),
    ("(?m)a\\n^b", ["a\nb"], []),
    ("(?m)a\\r^\\nb", [], ["a\r\nb"]),
    ("(?md)a$\\rb", [], ["a\rb"]),
    ("\\Qa.b\\E.", ["a.bx"], ["axbx"]),
    ("\\Qa.b", ["a.b"], ["axb"]),
    ("\\Qab\\E+", ["abb"], ["abab"]),
    ("[\\Q^]\\E]", ["^", "]"], ["a"]),
    ("\\Qa\\\\E", ["a\\"], ["aE"]),
    ("[a-z&&[^b]]", ["a", "c"], ["b"]),
    ("[a-z&&[^b]&&[^c]]", ["a"], ["b", "c"]),
    ("[^a-z&&[^b]]", ["b", "1"], ["a"]),
    ("[a-z&&^b]", ["b"], ["a", "^"]),
    ("[a[b-d]]", ["a", "c"], ["e"]),
    ("[^a[b]]", ["c"], ["a", "b"]),
    ("[a&b]", ["a", "&"], ["c"]),
    ("[]a]", ["]", "a"], ["b"]),
    ("[^]a]", ["b"], ["]"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[a-[b]]", ["a", "-", "b"], ["c"]),
    ("[\\w-a]", ["-", "z"], ["!"]),
    ("[&&a]", ["a"], ["&"]),
    ("[ab&&b[a]]", ["a", "b"], []),
    ("[\\w&&[^\\d_]]", ["a"], ["1", "_"]),
    ("\\d", ["7"], ["\u0663"]),
    ("(?U)\\d", ["7", "\u0663"], []),
    ("\\w", ["_"], ["\xe9"]),
    ("(?U)\\w", ["_", "\xe9", "\u200d"], []),
    ("\\s", [" ", "\x0b"], ["\xa0", "\x85"]),
    ("(?U)\\s", [" ", "\xa0", "\x85"], []),
    ("\\W", ["\xe9"], ["a"]),
    ("\\h", ["\t", "\xa0", "\u180e"], ["\n"]),
    ("\\v", ["\x0b", "\x85", "\u2028"], [" "]),
    ("\\R", ["\r\n", "\x85"], ["\n\r", "a"]),
    ("\\R\\n", ["\r\n", "\n\n"], []),
    ("a\\b.", ["a-"], ["ab"]),
    ("a\\B.", ["ab"], ["a-"]),
    ("\\p{Alpha}", ["a"], ["\xe9"]),
    ("(?U)\\p{Alpha}", ["\xe9"], ["1"]),
    ("\\p{Lower}", ["a"], ["A", "\xe9"]),
    ("(?i)\\p{Lower}", ["a", "A"], ["1"]),
    ("\\p{Punct}", ["!", "~", "$"], ["a"]),
    ("\\p{XDigit}", ["f", "F"], ["g"]),
    ("\\p{javaLowerCase}", ["a", "\xe9", "\xaa"], ["A"]),
    ("\\p{javaWhitespace}", [" ", "\x1c"], ["\xa0"]),
    ("\\p{IsAlphabetic}", ["\xe9", "\u2167"], ["1"]),
    ("\\p{IsLatin}", ["\xe9"], ["\u03b1"]),
    ("\\p{IsGREEK}", ["\u03b1"], []),
    ("\\p{script=Grek}", ["\u03b1"], ["a"]),
    ("\\p{InGreek}", ["\u03b1"], ["a"]),
    ("\\p{blk=Basic_Latin}", ["a"], ["\xe9"]),
    ("\\p{Lu}", ["\xc9"], ["\xe9"]),
    ("(?i)\\p{Lu}", ["\xe9"], ["1"]),
    ("\\pL", ["\xe9"], ["1"]),
    ("\\PL", ["1"], ["\xe9"]),
    ("\\p{L1}", ["\xe9"], ["\u03b1"]),
    ("\\P{Alpha}", ["\xe9"], ["a"]),
    ("[\\p{L}&&[^\\p{Lu}]]", ["\xe9"], ["\xc9"]),
    ("\\p{gc=Nd}", ["\u0663"], ["a"]),
    ("a*+a", [], ["aaa"]),
    ("a*a", ["aaa"], []),
    ("(?>a|ab)c", ["ac"], ["abc"]),
    ("a{1,2}+a", ["aaa"], ["aa"]),
    ("a{2}{3}", ["aa"], ["aaaaaa"]),
    ("a{0}", [""], ["a"]),
    ("^*a$*", ["a"], []),
    ("(?<year>a)\\k<year>", ["aa"], ["a"]),
    ("(a)(b)\\2\\1", ["abba"], ["abab"]),
    ("(a)\\11", ["aa1"], []),
    ("(?:(a)|b)\\1", ["aa"], ["b"]),
    ("(?i)a", ["A"], []),
    ("(?i)\xe9", [], ["\xc9"]),
    ("(?iu)\xe9", ["\xc9"], []),
    ("(?iu)[k]", ["\u212a"], []),
    ("a(?i)b", ["aB"], ["AB"]),
    ("(?i:a)b", ["Ab"], ["AB"]),
    ("(a(?i)b|c)d", ["aBd", "Cd"], ["abD"]),
    ("(?i)[^a]", ["b"], ["A"]),
    ("(?i)[a-c&&[^B]]", ["A"], ["b", "B"]),
    ("(?i-i)a", [], ["A"]),
    ("(?x) a b # c", ["ab"], ["a b"]),
    ("(?x)[a b]", ["a"], [" "]),
    ("(?x)a\\ b", ["a b"], []),
    ("(?x)a + b", ["aab"], []),
    ("a(?=b).", ["ab"], ["ac"]),
    ("a(?!b).", ["ac"], ["ab"]),
    (".(?<=a)b", ["ab"], ["cb"]),
    (".(?<!a)b", ["cb"], ["ab"]),
    ("\\0101\\x41\\x{41}\\u0041\\cA", ["AAAA\x01"], []),
    ("\\uD83D\\uDE00", ["\U0001f600"], []),
    ("\\N{LATIN SMALL LETTER A}", ["a"], []),
    ("\\a\\e\\f\\t", ["\x07\x1b\x0c\t"], []),
    ("\\_\\-\\.\\\xe9", ["_-.\xe9"], []),
    ("\\X", ["e\u0301"], ["ab"]),
    ("\\Ga\\A*", ["a"], []),
    ("a}]", ["a}]"], []),
]

# Patterns that java.util.regex.Pattern refuses.
REFUSED = [
    "(",
    ")",
    "a)",
    "[a",
    "[]",
    "[b-a]",
    "a**",
    "*a",
    "a{",
    "a{,2}",
    "a{2,1}",
    "a{1,",
    "\\",
    "\\g",
    "\\E",
    "\\x4",
    "\\x{110000}",
    "\\u12",
    "\\0",
    "\\08",
    "\\c",
    "\\p{Foo}",
    "\\p{L",
    "\\p{InNope}",
    "\\p{lu}",
    "(?<n>a)(?<n>b)",
    "(?<1>a)",
    "\\k<n>",
    "(?P<n>a)",
    "(?#x)",
    "(?i",
    "(?i)*",
    "[\\b]",
    "[&&]",
    "[a-\\d]",
    "\\N{NOPE}",
]

# What Java takes and we refuse rather than answer wrongly.
UNTRANSLATED = {
    r"(?c)a": "canonical equivalence",
    r"\b{g}a": "not supported",
    r"(a\1)": "not complete",
    r"(a)\2": "not complete",
    r"(?i)(a)\1": "(?iu)",
    r"[a&&]": "nothing behind",
}


@pytest.mark.parametrize(("pattern", "matching", "other"), GOLDEN)
def test_matches_whole_texts_as_java_does(pattern: str, matching: list[str], other: list[str]) -> None:
    compiled = compile_java(pattern)
    assert [text for text in matching + other if compiled.matches(text)] == matching


@pytest.mark.parametrize("pattern", REFUSED)
def test_refuses_with_a_reason_what_java_refuses(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        compile_java(pattern)


@pytest.mark.parametrize("pattern", UNTRANSLATED)
def test_refuses_what_it_cannot_translate(pattern: str) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_java(pattern)
    assert UNTRANSLATED[pattern] in str(refusal.value)


def test_word_boundaries_go_by_ascii_words_as_documented() -> None:
    # JDK 19 and later; JDK 17 counts letters outside ASCII there, against its own documentation.
    assert compile_java(r"a\b.").matches("aé")
    assert not compile_java(r"(?U)a\b.").matches("aé")


@given(st.text().filter(lambda text: r"\E" not in text))
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
