"""What a wave believes of the source when its bootstrap servers tell different things, or the same ends of another log."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cutover.steps import wave_ends
from kafka_mirror.cutover.steps.fence import ENDS, EPOCHS, find_fence_breaks
from kafka_mirror.cutover.steps.wave_ends import choose_newest, find_other_logs, look_at_source
from kafka_mirror.cutover.wave.selection import WaveTopics
from kafka_mirror.cutover.wave.step import FENCE
from kafka_mirror.errors import ClusterUnreachable, SourceUnreadable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets, Partition, PartitionLog, Topic
from tests.unit.ledger_records import ledger_record
from tests.wave_notes import NotesInMemory

STOCK = TopicPartition("stock", 0)


def log(end, epoch, topic_id="id"):
    return PartitionLog(topic_id, LogOffsets(0, end, end, epoch))


class Server:
    """One bootstrap server, and the leader to which it leads."""

    def __init__(self, end, epoch, partitions=1):
        self.end, self.epoch, self.partitions = end, epoch, partitions

    def topics(self, names, _refused):
        return {name: Topic(name, "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(self.partitions))) for name in names}

    def log_offsets(self, partitions, _refused):
        return {tp: LogOffsets(0, self.end, self.end, self.epoch) for tp in partitions}


class Source:
    """A source that has these servers; an error stands for one that tells nothing."""

    def __init__(self, **servers):
        self.servers = servers

    def find_shared_ends(self, positions, _seconds):
        return dict.fromkeys(positions, 1_000)

    def ask_each_server(self, ask):
        told = {name: ask(server) for name, server in self.servers.items() if isinstance(server, Server)}
        return told, {name: server for name, server in self.servers.items() if name not in told}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(wave_ends, "_PAUSES", (0.0,))


@pytest.fixture
def ended(monkeypatch):
    """Where leader epochs end, by partition; None of a leader that does not say. One that is not here has all records."""
    ends = {}

    def told(_source, positions, _seconds):
        return {position: end for position in positions if (end := ends.get(position.partition, 1_000)) is not None}

    monkeypatch.setattr(Source, "find_shared_ends", told)
    return ends


def move(**servers):
    flow = SimpleNamespace(name="east->west", source="east", client=lambda *_: {})
    return SimpleNamespace(flow=flow, topics=WaveTopics(("stock",)), sides=SimpleNamespace(source=Source(**servers)))


def fenced(end, epoch=None):
    notes = NotesInMemory()
    notes.keep(FENCE, {ENDS: {"stock": [end]}} | ({} if epoch is None else {EPOCHS: {"stock": [epoch]}}))
    return notes


def codes(findings):
    return [finding.code for finding in findings]


@st.composite
def answers(draw):
    """The leaders that a partition had, each with its epoch and end, and to which of them each server leads: to the last one some does."""
    epochs = sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4)))
    leaders = [log(draw(st.integers(0, 50)), epoch) for epoch in epochs]
    places = draw(st.lists(st.integers(0, len(leaders) - 1), max_size=4))
    return leaders, draw(st.permutations([*places, len(leaders) - 1]))


@given(answers())
def test_of_all_servers_the_one_that_knows_the_newest_leader_is_believed_and_any_older_one_is_named(drawn):
    leaders, places = drawn
    logs, contradictions = choose_newest({f"server-{number}": {STOCK: leaders[place]} for number, place in enumerate(places)})
    assert logs == {STOCK: leaders[-1]}
    assert bool(contradictions) == (set(places) != {len(leaders) - 1})


@given(st.lists(st.integers(0, 50), min_size=1, max_size=4))
def test_ends_of_one_epoch_are_of_one_log_that_grew_meanwhile_and_the_furthest_counts(ends):
    logs, contradictions = choose_newest({str(number): {STOCK: log(end, 7)} for number, end in enumerate(ends)})
    assert (logs, contradictions) == ({STOCK: log(max(ends), 7)}, {})


@pytest.mark.parametrize(
    "other",
    [
        {},
        {STOCK: PartitionLog("id", None)},
        {STOCK: log(9, 3, topic_id="another one")},
        {STOCK: log(8, None)},
    ],
)
def test_a_server_that_lacks_the_partition_its_leader_its_id_or_its_end_contradicts(other):
    assert list(choose_newest({"a": other, "b": {STOCK: log(9, 3)}})[1]) == [STOCK]


def test_a_broker_that_does_not_know_of_a_new_partition_is_no_witness():
    look = look_at_source(move(a=Server(9, 3), b=Server(9, 3, partitions=2)))
    assert look.contradicted == {TopicPartition("stock", 1)}
    assert codes(look.stops) == ["ClusterContradictsItself"]
    assert "stock-1 (a: there is no such partition; b: 9 in leader epoch 3)" in look.stops[0].message


def test_servers_that_agree_once_the_leader_has_moved_are_believed(monkeypatch):
    late = Server(40, 3)
    monkeypatch.setattr(wave_ends.time, "sleep", lambda _seconds: vars(late).update(end=65, epoch=4))
    look = look_at_source(move(a=late, b=Server(65, 4)))
    assert (look.stops, look.ends) == ((), {STOCK: 65})


def test_a_server_that_tells_nothing_is_a_warning_and_none_at_all_is_its_error():
    error = ClusterUnreachable("east", "b:9092", 5, "connecting")
    look = look_at_source(move(a=Server(9, 3), b=error))
    assert (look.stops, codes(look.warnings), look.ends) == ((), ["ServerSilent"], {STOCK: 9})
    with pytest.raises(ClusterUnreachable):
        look_at_source(move(a=error, b=error))


def test_a_fence_holds_behind_a_leader_that_moved_with_all_records_and_not_behind_one_that_lacks_some(ended):
    assert find_fence_breaks(move(a=Server(50, 3)), fenced(50, 3)) == ()
    assert find_fence_breaks(move(a=Server(50, 5)), fenced(50, 3)) == ()
    ended[STOCK] = 50
    assert find_fence_breaks(move(a=Server(50, 5)), fenced(50, 3)) == ()
    ended[STOCK] = 44
    (finding,) = find_fence_breaks(move(a=Server(50, 5)), fenced(50, 3))
    assert finding.code == "WrittenSinceFence"
    assert "stock-0@44" in finding.message
    assert find_fence_breaks(move(a=Server(50, 5)), fenced(50)) == (), "noted without an epoch"


def test_a_fence_does_not_hold_where_servers_differ_though_the_first_one_tells_what_was_noted(ended):
    told = codes(find_fence_breaks(move(a=Server(50, 3), b=Server(70, 4)), fenced(50, 3)))
    assert told[0] == "ClusterContradictsItself"
    assert codes(find_fence_breaks(move(a=Server(50, 3)), NotesInMemory())) == ["NotFenced"]


def test_a_copy_of_records_that_the_source_lost_is_named_though_both_end_alike(ended):
    known = {STOCK: ledger_record(watermark=50, leader_epoch=3)}
    here = move()
    assert list(find_other_logs(here, {STOCK: log(50, 5)}, known)) == []
    ended[STOCK] = 44
    (finding,) = find_other_logs(here, {STOCK: log(50, 5)}, known)
    assert (finding.code, finding.topic, finding.error.partition) == ("SourceTruncated", "stock", 0)
    assert list(find_other_logs(here, {STOCK: log(50, 3)}, known)) == [], "the epoch is still that of the copy"
    assert list(find_other_logs(here, {STOCK: PartitionLog("id", None)}, known)) == []


def test_a_leader_that_does_not_say_whether_its_log_is_the_copied_one_stops_the_wave(ended):
    ended[STOCK] = None
    with pytest.raises(SourceUnreadable, match="stock-0@50") as unknown:
        list(find_other_logs(move(), {STOCK: log(50, 5)}, {STOCK: ledger_record(watermark=50, leader_epoch=3)}))
    assert unknown.value.retriable
    with pytest.raises(SourceUnreadable):
        find_fence_breaks(move(a=Server(50, 5)), fenced(50, 3))
