import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.properties import entries, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\t= \fb", {"a": "b"}),
        ("a = = b", {"a": "= b"}),
        ("a : = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("  a  =  b  ", {"a": "b  "}),
        ("=b", {"": "b"}),
        (r"a\ b\=c\:d = e", {"a b=c:d": "e"}),
        ("A->B.topics = x", {"A->B.topics": "x"}),
        ("# c\n  ! c\n\n \t\f\na=1", {"a": "1"}),
        ("a=1 # no comment", {"a": "1 # no comment"}),
        ("a=1\na=2\nb=3", {"a": "2", "b": "3"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=x\\\n   y\\\r\n\tz", {"a": "xyz"}),
        ("a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
        ("a=x\\\\\\\ny", {"a": "x\\y"}),
        ("a=x\\\n# y", {"a": "x# y"}),
        ("a=x\\\n\nb=y", {"a": "x", "b": "y"}),
        ("# c \\\na=1", {"a": "1"}),
        ("\\\n# c\na=1", {"a": "1"}),
        ("a=x\\", {"a": "x"}),
        ("\\", {"": ""}),
        (r"a=\t\n\r\f\q\"\u0041\uD83D\uDE00", {"a": '\t\n\r\fq"A\U0001f600'}),
        (r"a=.*[\-\.]internal", {"a": ".*[-.]internal"}),
        (r"a=.*[\\-\\.]internal", {"a": r".*[\-\.]internal"}),
    ],
)
def test_reads_as_java_does(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize("text", [r"a=\u12", r"a=\u12G4", r"\uxyz=1"])
def test_malformed_unicode_escape_is_an_error_that_names_the_line(text):
    with pytest.raises(ValueError, match=r"line 3: malformed"):
        parse("x=1\n\n" + text)


def test_bytes_are_latin_1():
    assert entries("a=\xe9".encode("latin-1"))["a"].value == "\xe9"
    assert entries("a=é".encode())["a"].value == "Ã©"


def test_the_order_is_that_of_the_last_mention():
    assert list(parse("a=1\nb=2\na=3")) == ["b", "a"]


def _escaped(text: str, key: bool) -> str:
    """As `Properties.store` writes it."""
    written = []
    for position, character in enumerate(text):
        if character in "\\=:#!" or (character == " " and (key or position == 0)):
            written.append("\\" + character)
        elif " " < character < "\x7f" or character == " ":
            written.append(character)
        else:
            units = character.encode("utf-16-be", "surrogatepass").hex()
            written += [f"\\u{units[first : first + 4]}" for first in range(0, len(units), 4)]
    return "".join(written)


@given(st.dictionaries(st.text(), st.text(), max_size=8), st.sampled_from(["\n", "\r", "\r\n"]))
def test_what_java_stores_is_read_back(properties, line_end):
    # An empty line is no entry at all, so that an empty key needs its separator; all have it.
    text = "".join(f"{_escaped(key, True)}={_escaped(value, False)}{line_end}" for key, value in properties.items())

    assert parse(text) == properties


@given(st.text("ab=: \t\f\\\n\r#!", max_size=40))
def test_any_text_without_unicode_escapes_is_read(text):
    assert all(isinstance(part, str) for entry in parse(text).items() for part in entry)


@given(st.text("ab=: #!", max_size=20), st.integers(0, 20), st.sampled_from(["\n", "\r\n", "\n \t"]))
def test_a_line_may_be_broken_anywhere_but_before_blanks(text, position, line_break):
    line = "k=v" + text
    position = 3 + position
    if line[position : position + 1] in ("", " "):
        return

    assert parse(line[:position] + "\\" + line_break + line[position:]) == parse(line)
