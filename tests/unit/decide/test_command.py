"""`decide` on the command line: what it asks for before it looks at any cluster."""

import pytest

from kafka_mirror.cli.arguments import request_of
from kafka_mirror.cli.options import check
from kafka_mirror.cli.parser import parser
from kafka_mirror.errors import UsageError

COMPLETE = ["--flow", "east->west", "--reason", "seen"]


def request(*arguments):
    options = parser().parse_args(["decide", *arguments])
    check(options)
    return request_of(options)


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["accept-gap", "--topic", "t", "--reason", "seen"], "needs --flow"),
        (["accept-gap", "--topic", "t", "--flow", "a->b"], "needs --reason"),
        (["accept-gap", "--topic", "t", "--flow", "a->b", "--reason", " "], "needs --reason"),
        (["accept-gap", "--topic", "t", "--flow", "a->b", "--reason", "x" * 301], "301 characters"),
        (["accept-gap", *COMPLETE], "needs --topic"),
        (["accept-gap"], "decide accept-gap needs --flow, --topic and --reason"),
        (["begin-ledger", "--topic", "t", *COMPLETE], "no option --topic"),
        (["--topic", "t", "--partition", "1", "begin-ledger", *COMPLETE], "no use for --topic and --partition"),
        (["take-ownership", "--partition", "1", *COMPLETE], "no option --partition"),
        (["adopt-cluster", *COMPLETE], "needs --alias"),
        (["pause", "--topic", "t", "--alias", "east", *COMPLETE], "no option --alias"),
        (["pause", "--topic", "t", "--to-latest", *COMPLETE], "no option --to-latest"),
        (["restart", "--topic", "t", "--to-offset", "7", *COMPLETE], "--to-offset needs --partition"),
        (["throttle", *COMPLETE], "needs --bytes-per-second"),
        (["throttle", "--bytes-per-second", "7", "--topic", "t", *COMPLETE], "no option --topic"),
        (["pause", "--topic", "t", "--bytes-per-second", "7", *COMPLETE], "no option --bytes-per-second"),
    ],
)
def test_a_decision_that_is_not_complete_is_refused_with_what_is_missing(arguments, missing):
    with pytest.raises(UsageError, match=missing):
        request(*arguments)


@pytest.mark.parametrize("arguments", [["dance"], ["restart", "--to-latest", "--to-earliest"], ["pause", "--partition", "-1"]])
def test_what_the_grammar_does_not_know_is_refused(arguments):
    with pytest.raises(UsageError):
        request(*arguments, "--topic", "t", *COMPLETE)


@pytest.mark.parametrize("rate", ["0", "-2", "1.5", "fast", "5Mb", "5Mib", "5i", "0MB", "1e6", "5XB", "1.0001k", ""])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(UsageError):
        request("throttle", "--bytes-per-second", rate, *COMPLETE)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("5000000", 5_000_000),
        ("5MB", 5_000_000),
        ("5 MB/s", 5_000_000),
        ("5mb", 5_000_000),
        ("500k", 500_000),
        ("1.5M", 1_500_000),
        ("5MiB", 5 * 1024**2),
        ("1GiB", 1024**3),
        ("-1", -1),
        ("configured", None),
    ],
)
def test_a_rate_is_a_number_with_or_without_a_unit_no_limit_or_what_the_properties_say(rate, expected):
    assert request("throttle", "--bytes-per-second", rate, *COMPLETE).bytes_per_second == expected


@pytest.mark.parametrize("place", range(3))
def test_options_may_stand_in_front_of_the_decision_and_behind_it(place):
    words = ["--flow", "a->b", "--topic", "t", "--reason", "seen"]
    made = request(*words[: 2 * place], "pause", *words[2 * place :])
    assert (made.decision, made.topic, made.why) == ("pause", "t", "seen")


def test_who_is_the_user_on_this_host_unless_somebody_else_is_named():
    assert "@" in request("pause", "--topic", "t", *COMPLETE).who
    assert request("pause", "--topic", "t", "--who", "ana", *COMPLETE).who == "ana"


def test_a_complete_decision_says_all_that_was_asked():
    made = request("restart", "--topic", "t", "--partition", "3", "--to-offset", "0", *COMPLETE)
    assert (made.decision, made.topic, made.partition, made.start, made.why) == ("restart", "t", 3, 0, "seen")
