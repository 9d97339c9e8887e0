"""A flow of which nothing, or not all, is taken: every command says so, on real brokers."""

import json

import pytest

from kafka_mirror.__main__ import main
from services.oracle import Record


@pytest.fixture
def said(pair, capsys):
    """`said(topics, command)`: the state, the text and the exit code of a command of a flow of these topics."""

    def ask(topics, *command):
        extra = {"source->target.topics": topics, "emit.heartbeats.enabled": "false", "mirror.deadline.copy.seconds": "5"}
        file = pair.properties(extra=extra)
        capsys.readouterr()
        code = main(["--config", str(file), "--json", *command])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        main(["--config", str(file), *command])
        return flow["state"], capsys.readouterr().out, code

    return ask


@pytest.fixture
def orders(pair, oracle):
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name)
    oracle.produce_records(pair.source_bootstrap, name, [Record(value=b"one")])
    return name


def test_a_misspelt_topic_is_named_by_every_command_and_is_over_its_limit(said, orders):
    misspelt = orders.replace("orders", "ordres")
    for command in (["plan"], ["refresh-topics"], ["copy", "--without-spark"]):
        state, text, code = said(misspelt, *command)
        assert (state, code) == ("nothing to do", 0), command
        assert f"is taken by topics ('{misspelt}')" in text, command
    assert f"'{misspelt}'" in said(misspelt, "status")[1]
    state, text, code = said(misspelt, "freshness")
    assert (state, code) == ("failed", 1)
    assert "NothingMirrored" in text


def test_a_misspelt_member_is_named_beside_one_that_is_copied(said, orders):
    misspelt = orders.replace("orders", "ordres")
    assert f"is taken by '{misspelt}'" in said(f"{orders}, {misspelt}", "plan")[1]
    assert said(f"{orders}, {misspelt}", "copy", "--without-spark")[0] == "done"
    state, text, code = said(f"{orders}, {misspelt}", "status")
    assert (state, code) == ("done", 0) and f"is taken by '{misspelt}'" in text
    assert "NothingMirrored" not in said(f"{orders}, {misspelt}", "freshness")[1]
