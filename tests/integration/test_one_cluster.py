"""Two aliases that lead to one cluster: by a second address of it, and where that is meant."""

import json

import pytest

from kafka_mirror.__main__ import main
from services.waiting import ADMIN_TIMEOUT_MS

STEPS = [
    ("plan",),
    ("plan", "--json"),
    ("refresh-topics",),
    ("copy", "--without-spark"),
    ("heartbeats",),
    ("topic-configs",),
    ("topic-acls",),
    ("checkpoints",),
    ("group-offsets",),
    ("refresh-topics", "--dry-run"),
    ("schemas",),
    *(("decide", *about, "--reason", "a test") for about in (("pause", "--topic", "orders"), ("throttle", "--bytes-per-second", "9"))),
]


@pytest.fixture
def pair(make_pair, east, west):
    """The target's address is another one of the source's cluster."""
    made = make_pair(east, west)
    assert made.source_bootstrap.startswith("127.0.0.1:")
    return type(made)(
        made.source, made.target, made.source_bootstrap, f"localhost:{east.bootstrap.split(':')[1]}", made.mark, made.directory
    )


@pytest.fixture
def mirror(pair, capsys):
    """`mirror(properties, "copy")`: exit code, standard output and standard error."""

    def run(extra, *arguments):
        common = {"source->target.mirror.lanes": "2", "admin.timeout.ms": ADMIN_TIMEOUT_MS, "heartbeats.replication.enabled": "false"}
        file = pair.properties(f".*-{pair.mark}", common | extra)
        code = main(["--config", str(file), *arguments])
        return code, *capsys.readouterr()

    return run


def test_no_step_creates_anything_and_each_names_both_aliases_both_addresses_and_the_id(pair, oracle, topic, mirror):
    before = oracle.topics(pair.source_bootstrap)
    registries = {f"mirror.schemas.{side}.url": "http://127.0.0.1:9" for side in ("source", "target")}
    for arguments in STEPS:
        named = ("--flow", pair.flow) if arguments[0] == "decide" else ()
        code, output, words = mirror(registries, *arguments, *named)
        said = output + words
        assert (code, "SameCluster" in said) == (1, True), (arguments, said)
        assert all(each in said for each in (pair.source, pair.target, pair.source_bootstrap, pair.target_bootstrap)), said
        assert f"{pair.flow}.mirror.one.cluster=true" in said
    assert sorted(oracle.topics(pair.source_bootstrap)) == sorted(before)


def test_freshness_and_status_say_so_too(pair, topic, mirror):
    for arguments in (("status",), ("freshness",)):
        code, output, words = mirror({}, *arguments)
        assert (code, "SameCluster" in output + words) == (1, True), output + words


def test_where_it_is_meant_no_topic_that_the_flow_made_is_mirrored_once_more(pair, oracle, topic, mirror):
    meant = {"mirror.one.cluster": "true"}
    for _ in range(3):
        assert mirror(meant, "refresh-topics")[0] == 0
        code, output, words = mirror(meant, "copy", "--without-spark", "--json")
        assert (code, words) == (0, "")
    assert json.loads(output)["flows"][0]["result"]["records"] == 0
    assert sorted(name for name in oracle.topics(pair.source_bootstrap) if pair.mark in name and not name.endswith(".internal")) == sorted(
        [topic, pair.remote(topic)]
    )
