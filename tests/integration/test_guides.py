"""The handbook's other guides, followed: the commands of each page, in its order, on two real clusters.

The page is the source of the commands. Clusters, topics, groups, files and days are the test's. The guides of cutovers have a test of
their own; those of Airflow, of alerts and of MirrorMaker 2 are followed where these are.
"""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.__main__ import main
from services.consumers import set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side
from services.schema_registry import schema_registry

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
TOPICS = ("orders", "returns", "payments")
COMMAND = re.compile(r"kafka-mirror ((?:->|[^`\n#>|])+)")


def commands(page: str, first: str) -> list[list[str]]:
    """The lines of a page that are to be typed and begin with this command, each once. Brackets stand around what may be left out."""
    lines = COMMAND.findall((GUIDES / page).read_text(encoding="utf-8"))
    found = [shlex.split(re.sub(r"[\[\]]", "", line)) for line in lines]
    return [words for number, words in enumerate(found) if words[:1] == [first] and words not in found[:number]]


@dataclass
class Reader:
    """Somebody who follows a page: with clusters, topics and a file of the own, and the days in which there are records."""

    pair: ClusterPair
    file: Path
    capsys: pytest.CaptureFixture[str]
    first_day: datetime

    def follow(self, page: str, first: str, without: str = "") -> list[Any]:
        """Types the page's commands that begin so, but those with the word `without`. What each says, as JSON."""
        answers = []
        for words in (each for each in commands(page, first) if not without or without not in each):
            own = [self._own(before, word) for before, word in zip(["", *words], words, strict=False)]
            assert main([*own, *(() if "--config" in own else ("--config", str(self.file))), "--json"]) == 0, own
            answers.append(json.loads(self.capsys.readouterr().out))
        assert answers, f"{page} has no such command"
        return answers

    def _own(self, before: str, word: str) -> str:
        names = {"east": self.pair.source, "west": self.pair.target, "billing": f"billing-{self.pair.mark}"}
        names |= {topic: self.pair.topic(topic) for topic in TOPICS}
        if before in ("--from", "--to"):
            days = {"--from": 0, "--to": 5}[before]
            return f"{self.first_day + timedelta(days=days):%Y-%m-%d}"
        if before == "--config":
            return str(self.file)
        return re.sub(r"\w+", lambda match: names.get(match[0], match[0]), word) if before in ("--flow", "--topics", "--group") else word


@pytest.fixture
def reader(pair: ClusterPair, oracle: Oracle, capsys: pytest.CaptureFixture[str]) -> Callable[..., Reader]:
    """`reader(**properties)`: of a flow whose topics have a record of each of five days that are over."""
    first = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=6)

    def made(**properties: str) -> Reader:
        for topic in map(pair.topic, TOPICS):
            oracle.create_topic(pair.source_bootstrap, topic)
            days = [first + timedelta(days=day, hours=1) for day in range(5)]
            records = [Record(value=b"of %d" % number, timestamp=round(day.timestamp() * 1000)) for number, day in enumerate(days)]
            oracle.produce_records(pair.source_bootstrap, topic, records)
        extra = {name.replace("__", "."): value for name, value in properties.items()}
        return Reader(pair, pair.properties(extra={"groups": f".*-{pair.mark}", **extra}), capsys, first)

    return made


def result(answer: Any) -> Any:
    """What a command did with the only flow."""
    [flow] = answer["flows"]
    assert flow["errors"] == []
    return flow["result"]


def test_a_backfill_brings_the_days_after_a_dry_run_that_says_so(reader: Callable[..., Reader], oracle: Oracle) -> None:
    own = reader(mirror__start="latest")
    assert main(["copy", "--without-spark", "--config", str(own.file)]) == 0
    own.capsys.readouterr()
    dry, real = own.follow("backfill.md", "backfill")
    assert dry["flows"][0]["errors"] == real["flows"][0]["errors"] == []
    topic = own.pair.topic("orders")
    oracle.assert_mirrored(Side(own.pair.source_bootstrap, topic), Side(own.pair.target_bootstrap, f"history.{own.pair.remote(topic)}"))


def test_an_audit_proves_the_topics_of_a_day(reader: Callable[..., Reader]) -> None:
    own = reader()
    assert main(["copy", "--without-spark", "--config", str(own.file)]) == 0
    own.capsys.readouterr()
    [audited] = own.follow("prove-completeness.md", "audit")
    assert result(audited)["total_state"] == "equal"


def test_a_throttle_is_decided_and_status_freshness_and_translate_say_how_the_flow_stands(reader: Callable[..., Reader]) -> None:
    own = reader()
    group = f"billing-{own.pair.mark}"
    set_offsets(own.pair.source_bootstrap, group, {(own.pair.topic("orders"), 0): 3})
    own.follow("throttle.md", "decide")
    assert main(["copy", "--without-spark", "--config", str(own.file)]) == 0
    own.capsys.readouterr()
    own.follow("status-page.md", "status")
    own.follow("alerts.md", "freshness", without="--test-alert")  # which takes people with a connection
    [asked] = own.follow("disaster-recovery.md", "translate", without="G")
    assert result(asked)


def test_schemas_are_compared_and_brought(reader: Callable[..., Reader]) -> None:
    with schema_registry() as (source, there), schema_registry() as (target, here):
        there.register("orders-value", '"long"')
        own = reader(mirror__schemas__source__url=source, mirror__schemas__target__url=target)
        dry, real = own.follow("schema-registry.md", "schemas")
        assert result(dry)["registered"]["subject"] == result(real)["registered"]["subject"] == ["orders-value"]
        assert here.subjects == there.subjects


def written(page: str, pair: ClusterPair, names: dict[str, str], clusters: dict[str, str], tmp_path: Path) -> Path:
    """The page's first configuration as a file, with names and addresses of the test's own."""
    [text, *_] = re.findall(r"^```properties\n(.*?)^```$", (GUIDES / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(\w+)(\.bootstrap\.servers) = .*$", lambda line: f"{line[1]}{line[2]} = {clusters[line[1]]}", text, flags=re.MULTILINE)
    named = {**names, **{topic: pair.topic(topic) for topic in (*TOPICS, "clicks")}}
    text = re.sub(r"(?<![\w.-])\w+(?=[\s,.>-]|$)", lambda word: named.get(word[0], word[0]), text, flags=re.MULTILINE)
    file = tmp_path / "mm2.properties"
    file.write_text(
        text.replace("replication.factor = 3", "replication.factor = 1")
        + "".join(f"{topic}.topic.replication.factor = 1\n" for topic in ("offset-syncs", "checkpoints", "heartbeats"))
    )
    return file


def test_both_ways_each_record_arrives_once_and_none_goes_round(pair: ClusterPair, oracle: Oracle, tmp_path: Path) -> None:
    names = {"east": pair.source, "west": pair.target}
    addresses = {"east": pair.source_bootstrap, "west": pair.target_bootstrap}
    file, topic = written("active-active.md", pair, names, addresses, tmp_path), pair.topic("orders")
    for bootstrap, value in ((pair.source_bootstrap, b"of east"), (pair.target_bootstrap, b"of west")):
        oracle.create_topic(bootstrap, topic)
        oracle.produce_records(bootstrap, topic, [Record(value=value)])
    for _ in range(2):
        for command in (["refresh-topics"], ["copy", "--without-spark"]):
            assert main([*command, "--config", str(file)]) == 0
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, f"{pair.source}.{topic}"))
    oracle.assert_mirrored(Side(pair.target_bootstrap, topic), Side(pair.source_bootstrap, f"{pair.target}.{topic}"))


def test_topics_of_several_clusters_stand_in_one_under_the_names_of_their_clusters(
    pair: ClusterPair, oracle: Oracle, tmp_path: Path
) -> None:
    names = {city: f"{city}{pair.mark}" for city in ("paris", "tokyo", "central")}
    addresses = dict.fromkeys(("paris", "tokyo"), pair.source_bootstrap) | {"central": pair.target_bootstrap}
    file, topic = written("aggregate.md", pair, names, addresses, tmp_path), pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])
    for command in (["refresh-topics"], ["copy", "--without-spark"]):
        assert main([*command, "--config", str(file)]) == 0
    for city in ("paris", "tokyo"):
        oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, f"{names[city]}.{topic}"))
