import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.clients.sasl import parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('username="a" password="b"', {"username": "a", "password": "b"}),
        ("username='a' password = b", {"username": "a", "password": "b"}),
        (r'password="a\"b\\c;d=e"', {"password": 'a"b\\c;d=e'}),
        (r'password="\t\101"', {"password": "\tA"}),
        ('password=""', {"password": ""}),
        ('password="it\'s"', {"password": "it's"}),
        ('/* a\n= */ password="b" // c', {"password": "b"}),
        ("", {}),
    ],
)
def test_options(options, expected):
    module = parse_jaas(f"{PLAIN} required\n  {options}\n;")
    assert module.simple_name == "PlainLoginModule"
    assert module.options == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "semicolon"),
        (f'{PLAIN} required password="hidden"', "semicolon"),
        (f'{PLAIN} password="hidden";', "must be: <login module class> required"),
        (f'{PLAIN} required password "hidden";', "an option that is not"),
        (f"{PLAIN} required password=;", "an option that is not"),
        (f'{PLAIN} required password="hidden;', "quote that is not closed"),
        (f"{PLAIN} required; {PLAIN} required;", "2 login modules"),
        (";", "must be"),
    ],
)
def test_a_complaint_never_quotes_the_text(text, reason):
    with pytest.raises(ValueError, match=reason) as raised:
        parse_jaas(text)
    assert "hidden" not in str(raised.value)


def test_the_password_stays_out_of_the_repr():
    assert "hidden" not in repr(parse_jaas(f'{PLAIN} required password="hidden";'))


@given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), st.sampled_from("\"'"))
def test_any_password_can_be_quoted(password, quote):
    escaped = password.replace("\\", "\\\\").replace(quote, "\\" + quote)
    assert parse_jaas(f"{PLAIN} required password={quote}{escaped}{quote};").options == {"password": password}
