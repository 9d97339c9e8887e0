"""The handbook's guides of a cutover, followed: the commands of each page in its order, with the steps of people in between.

The page is the source of the commands. Clusters, topics, names of waves and directories are the test's, and the quiet seconds are few.
"""

import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_mirror.__main__ import INTERRUPTED, main
from kafka_mirror.cli import cutover_parts
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.consumers import member, read, read_offsets
from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import ADMIN_TIMEOUT_MS, PATIENCE, eventually
from tests.integration.access import acl

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
NAMES = ("orders", "payments", "rehearsal")
WRITER = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "writer", "sasl.password": "writer"}
ONE_BROKER = (
    "replication.factor",
    "offset-syncs.topic.replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
)


@dataclass(frozen=True)
class Played:
    """What a command came to: exit code, and all that it said."""

    code: int
    said: str


@dataclass
class Guide:
    """A page, the commands of it that are still to be followed, and what stands in the place of its names."""

    pair: ClusterPair
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    commands: list[list[str]] = field(default_factory=list)
    backup: Path = Path()
    followed: list[str] = field(default_factory=list)

    def open(self, page: str) -> None:
        text = (GUIDES / page).read_text(encoding="utf-8")
        lines = [
            line.strip() for block in re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL) for line in block.split("\n")
        ]
        self.commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("kafka-mirror ")]

    def follow(self, *begin: str, people: Mapping[str, Callable[[], None]] | None = None) -> Played:
        """The page's next command, which begins with these words. `people` do something when a step says that."""
        self.followed = self.commands.pop(0)
        assert self.followed[: len(begin)] == [*begin]
        return self.again(people)

    def again(self, people: Mapping[str, Callable[[], None]] | None = None) -> Played:
        """The same command once more."""
        words = [self._own(before, word) for before, word in zip(["", *self.followed], self.followed, strict=False)]
        return self.run(*words, *(["--quiet-seconds", "1"] if words[:2] == ["cutover", "run"] else []), people=people)

    def run(self, *words: str, people: Mapping[str, Callable[[], None]] | None = None) -> Played:
        """A command of a DAG, or one of the page."""
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            (people or {}).get(line, lambda: None)()

        self.monkeypatch.setattr(cutover_parts, "_say", say)
        code = main(list(words))
        out, err = self.capsys.readouterr()
        return Played(code, "\n".join((*said, out, err)))

    def waves(self) -> list[dict[str, str]]:
        """The flow's waves, by `cutover status`, the newest last."""
        (flow,) = json.loads(self.run("cutover", "status", "--flow", self.pair.flow, "--json").said)["flows"]
        return flow["result"]["waves"]

    def name(self, word: str) -> str:
        """The test's own name of a thing on the page."""
        return {"east": self.pair.source, "west": self.pair.target, **{name: self.pair.topic(name) for name in NAMES}}.get(word, word)

    def _own(self, before: str, word: str) -> str:
        if before == "--wave":
            return self.waves()[-1]["wave"]
        if before == "--export":
            return str(self.backup)
        return re.sub(r"\w+", lambda match: self.name(match[0]), word) if before in ("--flow", "--topics") else word


@dataclass
class Producing:
    """An application that writes until it is stopped or refused."""

    settings: Mapping[str, str]
    topic: str
    acknowledged: int = 0
    refusals: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()
        eventually(lambda: self.acknowledged, "the first record")

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        producer, number = Producer({**self.settings, "linger.ms": 5, "log_level": 0}), 0
        while not self._over.wait(0.02):
            try:
                producer.produce(self.topic, b"value", partition=number % 2, on_delivery=self._delivered)
            except KafkaException as refusal:  # the client knows by now that it may not
                self._delivered(refusal.args[0], None)
            producer.poll(0)
            number += 1
        assert producer.flush(PATIENCE) == 0

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.refusals.add(error.name())
            self._over.set()


@pytest.fixture
def make_guide(capsys, monkeypatch, tmp_path, oracle):
    """`make_guide("page.md", pair, configuration)`: the page, with topics that have records and are copied."""
    monkeypatch.chdir(tmp_path)

    def make(page: str, pair: ClusterPair, file: Path) -> Guide:
        monkeypatch.setenv("MIRROR_CONFIG", str(file))
        guide = Guide(pair, capsys, monkeypatch, backup=tmp_path / "backup")
        guide.open(page)
        for name in NAMES[: 3 if "rehearsal" in str(guide.commands) else 2]:
            oracle.create_topic(pair.source_bootstrap, pair.topic(name), 2)
            oracle.produce(pair.source_bootstrap, pair.topic(name), 40, seed=1)
        assert guide.run("copy", "--without-spark", "--flow", pair.flow).code == 0
        return guide

    return make


@pytest.fixture
def with_acls(guarded, make_pair, oracle, allow):
    """A pair of clusters with an authorizer, where `writer` may write to the topics; and that user's settings."""
    pair = make_pair(*guarded)
    allow(guarded[0], *(acl("writer", pair.topic(name), "WRITE") for name in NAMES))
    yield pair, {"bootstrap.servers": guarded[0].secure_bootstrap, **WRITER}
    left = [each for each in oracle.acls(pair.source_bootstrap) if each["permission"] == "DENY" and each["name"].endswith(pair.mark)]
    oracle.delete_acls(pair.source_bootstrap, left)


@contextmanager
def consuming(bootstrap: str, group: str, topic: str, records: int) -> Iterator[Callable[[], None]]:
    """An application that has read so many records and stays; gives what stops it."""
    with ExitStack() as stack:
        assert len(read(stack.enter_context(member(bootstrap, group, topic)), records)) == records
        yield stack.close


def records(oracle: Oracle, bootstrap: str, topic: str) -> int:
    return sum(each.records for each in oracle.count(bootstrap, topic))


def unread(oracle: Oracle, bootstrap: str, group: str, topic: str) -> int:
    """How many records the group has yet to read."""
    places = read_offsets(bootstrap, group)
    return sum(each.offset >= places.get(TopicPartition(topic, each.partition), 0) for each in oracle.dump(bootstrap, topic))


def test_a_drill_names_what_would_stop_the_wave_and_moves_nobody(make_guide, with_acls, oracle):
    pair, writer = with_acls
    guide = make_guide("drill-a-cutover.md", pair, pair.properties())
    group = f"billing-{pair.mark}"
    producer = Producing(writer, pair.topic("orders"))
    with consuming(pair.source_bootstrap, group, pair.topic("orders"), 20):
        plan = guide.follow("cutover", "plan")
        assert plan.code == 0, plan.said
        assert "1 producer writes to it" in plan.said
        assert f"{group}: it has 1 member" in plan.said
        drill = guide.follow("cutover", "run")
        assert (drill.code, "open: would stop" in drill.said) == (0, True), drill.said
        assert f"{pair.topic('orders')}: DENY WRITE for User:* from * would be created" in drill.said
        assert "The wave would be copied to the ends that its write fence notes." in drill.said
        assert "2 of 4 partitions are not copied to the source's end" in drill.said
        audit = guide.follow("audit")
        assert (audit.code, "equal" in audit.said) == (0, True), audit.said
    producer.stop()
    assert (guide.waves(), read_offsets(pair.target_bootstrap, group), producer.refusals) == ([], {}, set())

    rehearsed = guide.follow("cutover", "run")
    assert rehearsed.code == 0, rehearsed.said
    assert refused_at(writer, pair.topic("rehearsal")) == "TOPIC_AUTHORIZATION_FAILED"
    assert guide.follow("cutover", "rollback").code == 0
    assert eventually(lambda: refused_at(writer, pair.topic("rehearsal")) == "")
    assert guide.commands == []


def refused_at(settings: Mapping[str, str], topic: str) -> str:
    """How the topic refuses one record; '' if it does not."""
    outcomes: list[KafkaError | None] = []
    producer = Producer({**settings, "log_level": 0})
    producer.produce(topic, b"value", partition=0, on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(PATIENCE) == 0
    return outcomes[0].name() if outcomes[0] else ""


def test_a_planned_cutover_moves_the_wave_behind_a_fence_of_acls(make_guide, with_acls, oracle, tmp_path):
    pair, writer = with_acls
    guide = make_guide("planned-cutover.md", pair, pair.properties())
    group, topic = f"billing-{pair.mark}", pair.topic("orders")
    guide.commands.insert(0, guide.commands.pop())  # the overview at the head of the page has everything once
    assert guide.follow("cutover", "plan").code == 0
    assert guide.follow("cutover", "plan").code == 0
    producer = Producing(writer, topic)
    with consuming(pair.source_bootstrap, group, topic, 20) as stop:
        assert guide.follow("cutover", "run").code == 0, "a producer writes, which is what a drill expects"
        moved = guide.follow("cutover", "run", people={"last-copy begins.": stop})
    assert moved.code == 0, moved.said
    producer.stop()
    assert producer.refusals == {"TOPIC_AUTHORIZATION_FAILED"}
    assert records(oracle, pair.target_bootstrap, pair.remote(topic)) == 40 + producer.acknowledged
    assert unread(oracle, pair.target_bootstrap, group, pair.remote(topic)) == 20 + producer.acknowledged
    assert "open" in guide.follow("cutover", "status").said
    taken_back = guide.follow("cutover", "rollback")
    assert (taken_back.code, "WaveIsOpen" in taken_back.said or "is open" in taken_back.said) == (1, True)
    assert guide.follow("cutover", "report").code == 0
    assert (tmp_path / "wave.md").read_text(encoding="utf-8").startswith(f"# Wave {guide.waves()[-1]['wave']} of {pair.flow}: open")
    assert guide.commands == []


def both_ways(page: str, pair: ClusterPair) -> Path:
    """The configuration of a page, for clusters of one broker each."""
    (example,) = re.findall(r"```properties\n(.*?)```", (GUIDES / page).read_text(encoding="utf-8"), re.DOTALL)
    servers = {"east-1:9092, east-2:9092": pair.source_bootstrap, "west-1:9092, west-2:9092": pair.target_bootstrap}
    for theirs, ours in servers.items():
        assert theirs in example
        example = example.replace(theirs, ours)
    lines = re.sub(r"\b(east|west)\b", lambda match: {"east": pair.source, "west": pair.target}[match[0]], example).splitlines()
    small = {
        "topics": f".*-{pair.mark}",
        "heartbeats.replication.enabled": "false",  # those of all tests would go round between the clusters that they share
        "admin.timeout.ms": ADMIN_TIMEOUT_MS,
        **dict.fromkeys(ONE_BROKER, "1"),
    }
    kept = [line for line in lines if line.partition(" = ")[0] not in small]
    file = pair.directory / "mm2.properties"
    file.write_text("\n".join([*kept, *(f"{name} = {value}" for name, value in small.items())]) + "\n", encoding="utf-8")
    return file


def test_a_move_to_a_new_cluster_is_taken_back_made_and_moved_back(make_guide, pair, oracle, tmp_path):
    page = "move-to-a-new-cluster.md"
    guide = make_guide(page, pair, both_ways(page, pair))
    group, topic, back = f"billing-{pair.mark}", pair.topic("orders"), f"{pair.target}->{pair.source}"
    assert guide.follow("cutover", "plan").code == 0

    def something_is_wrong() -> None:
        raise KeyboardInterrupt

    producer = Producing({"bootstrap.servers": pair.source_bootstrap}, topic)
    with consuming(pair.source_bootstrap, group, topic, 20) as stop:
        people = {"fence begins.": producer.stop, "last-copy begins.": stop}
        assert guide.follow("cutover", "run", people={**people, "open begins.": something_is_wrong}).code == INTERRUPTED
    run = guide.followed
    assert unread(oracle, pair.target_bootstrap, group, topic) == 20 + producer.acknowledged
    assert guide.follow("cutover", "rollback").code == 0
    assert read_offsets(pair.target_bootstrap, group) == {}

    again = Producing({"bootstrap.servers": pair.source_bootstrap}, topic)
    guide.followed, following = run, guide.followed
    moved = guide.again(people={"fence begins.": again.stop})
    assert moved.code == 0, moved.said
    assert "open: done." in moved.said
    assert f"What is produced on {pair.target} from now on flows back by {back}." in moved.said
    assert "# Wave" in (tmp_path / "wave.md").read_text(encoding="utf-8")
    assert following
    here = 40 + producer.acknowledged + again.acknowledged

    there = Producing({"bootstrap.servers": pair.target_bootstrap}, topic)
    with consuming(pair.target_bootstrap, group, topic, 10) as stop:
        returned = guide.follow("cutover", "run", people={"fence begins.": there.stop, "last-copy begins.": stop})
    assert returned.code == 0, returned.said
    total = here + there.acknowledged
    assert {records(oracle, at, topic) for at in (pair.source_bootstrap, pair.target_bootstrap)} == {total}
    assert unread(oracle, pair.source_bootstrap, group, topic) == total - 30
    assert guide.commands == []


def test_a_disaster_is_recovered_from_and_the_source_comes_back(make_guide, make_cluster, west, make_pair, oracle, tmp_path):
    source = make_cluster("gone")
    pair = make_pair(source, west)
    back = f"{pair.target}->{pair.source}"
    both = {
        f"{back}.enabled": "true",
        f"{back}.topics": f".*-{pair.mark}",
        "heartbeats.replication.enabled": "false",
        "admin.timeout.ms": ADMIN_TIMEOUT_MS,
    }
    guide = make_guide("disaster-recovery.md", pair, pair.properties(extra=both))
    group, topic, remote = f"billing-{pair.mark}", pair.topic("orders"), pair.remote(pair.topic("orders"))
    with consuming(pair.source_bootstrap, group, topic, 20):
        pass
    for step in ("refresh-groups", "checkpoints"):
        assert guide.run(step, "--flow", pair.flow).code == 0
    oracle.produce(pair.source_bootstrap, topic, 7, seed=2)  # nobody copies them
    source.kill()

    drill = guide.follow("cutover", "run")
    assert (drill.code, guide.waves()) == (0, []), drill.said
    lost = guide.follow("cutover", "run")
    assert lost.code == 0, lost.said
    assert json.loads((tmp_path / "failover.json").read_text(encoding="utf-8"))["state"] == "open"
    assert unread(oracle, pair.target_bootstrap, group, remote) == 20
    closed = guide.run("copy", "--without-spark", "--flow", pair.flow)
    assert (closed.code, "reopen" in closed.said) == (1, True), closed.said
    oracle.create_topic(pair.target_bootstrap, topic, 2)
    oracle.produce(pair.target_bootstrap, topic, 5, seed=3)

    source.start()
    compared = guide.follow("cutover", "compare")
    assert compared.code == 0, compared.said
    files = [file for file in guide.backup.iterdir() if file.name != "export.json"]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) == 7
    assert guide.follow("cutover", "reopen").code == 0
    for flow in (pair.flow, back):
        copied = guide.run("copy", "--without-spark", "--flow", flow)
        assert copied.code == 0, copied.said
    assert records(oracle, pair.target_bootstrap, remote) == 47
    moved_back = guide.follow("cutover", "run")
    assert moved_back.code == 0, moved_back.said
    assert records(oracle, pair.source_bootstrap, f"{pair.target}.{topic}") == 5
    assert guide.commands == []
