"""A large audit as tasks of Spark: however a stretch is cut and whatever runs it, what is found is what one task would find."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.audit import parallel
from kafka_mirror.audit import parallel as module
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.digest import Digest, Digester, Piece
from kafka_mirror.audit.model import Difference, LeftOut
from kafka_mirror.audit.parallel import (
    ON_WORKERS,
    DigestedRange,
    PartAnswer,
    PartTask,
    PieceDigest,
    PieceTask,
    compare_on_spark,
    cut_at_pairs,
    merge_parts,
    merge_pieces,
    piece_tasks,
    split_evenly,
    tasks_of,
    work_on,
    work_on_all,
)
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.cli.audit import choose_comparison
from kafka_mirror.cli.parser import parser
from kafka_mirror.config import Flow
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.errors import LogMoved, SparkServerUnavailable
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record
from kafka_mirror.kafka.reader import Part
from kafka_mirror.spark.run import Spark
from tests.spark_session import SparkOfThisProcess
from tests.unit.audit.memory import MemoryMessage, MemorySide, at_offsets, numbered

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
CONTEXT: Any = None


def stretch(number: int, offsets: int, **fields: Any) -> AuditRange:
    tp = TopicPartition(f"topic {number}", 0)
    return AuditRange(tp, tp, 0, offsets, 0, offsets, offsets, offsets, **fields)


class PiecewiseSide(MemorySide):
    """A side whose digests have short blocks."""

    def read_piece(self, tp: TopicPartition, part: Part, piece: Piece) -> Digest:
        digester = Digester(mean_records=8, piece=piece)
        digester.take([MemoryMessage(each) for each in self.read_records(tp, part)])
        return digester.digest()


def read(target: list[Record], cores: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Outcome], list[DigestedRange]]:
    """What reading in pieces finds of 300 records, of which the target has these copies in front of a marker."""
    source, copies = numbered(300), at_offsets(target, 50)
    end = 50 + len(copies) + 1
    sides = PiecewiseSide("east", {TP: source}), PiecewiseSide("west", {REMOTE: copies})
    monkeypatch.setattr(module, "sides_of", lambda _work: sides)
    whole = AuditRange(TP, REMOTE, 0, 300, 50, end, 300, end)
    tasks = piece_tasks([whole], cores, 10)
    assert all(isinstance(task, PieceTask) for task in tasks)
    return merge_pieces([whole], [answer for task in tasks for answer in work_on(CONTEXT, task)])


@settings(max_examples=15)
@given(st.integers(2, 30))
def test_equal_sides_are_equal_however_they_are_cut(cores: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        ((outcome,), second) = read(numbered(300), cores, monkeypatch)
        assert (outcome.source_records, outcome.target_records, second) == (300, 300, [])
        whole = Digester(mean_records=8)
        whole.take([MemoryMessage(each) for each in numbered(300)])
        assert outcome.source_digest == outcome.target_digest == whole.digest().text


@settings(max_examples=30)
@given(st.integers(2, 30), st.integers(0, 299))
def test_a_difference_is_left_to_a_second_round_with_what_is_equal_in_front_of_it(cores: int, missing: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        source = numbered(300)
        (outcomes, (left,)) = read([*source[:missing], *source[missing + 1 :]], cores, monkeypatch)
        assert outcomes == []
        block = left.source.find_different_block(left.target)
        assert block is not None
        assert left.source.blocks[block].first <= missing < left.source.blocks[block].first + left.source.blocks[block].records


@pytest.mark.parametrize("missing", [None, 0, 150])
def test_the_rounds_of_an_audit_on_spark_go_on_until_every_stretch_has_its_outcome(
    missing: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = numbered(300)
    copies = [each for number, each in enumerate(source) if number != missing]
    sides = PiecewiseSide("east", {TP: source}), PiecewiseSide("west", {REMOTE: at_offsets(copies, 0)})
    large, small = AuditRange(TP, REMOTE, 0, 300, 0, 300, 300, 300), stretch(1, 20)
    monkeypatch.setattr(module, "sides_of", lambda _context: sides)
    monkeypatch.setattr(module, "equal_ranges", lambda *_, **__: {})
    monkeypatch.setattr(module, "compare_audit_ranges", lambda _context, stretches: [Outcome(each) for each in stretches])
    monkeypatch.setattr(module, "outcome_of_digests", lambda _context, whole, *_: Outcome(whole, source_records=7))
    rounds = []

    def spread(function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        rounds.append((function, slices, {type(task) for _, task in tasks}))
        assert slices == len(tasks)
        return list(work_on_all(tasks))

    context = AuditContext("east", "west", 4, ClientSettings({}, {}, {}, {}))
    outcomes = compare_on_spark(context, [large, small], 10, Spark(lambda: 4, spread, lambda _seconds: True, lambda _answer: None))
    assert [outcome.stretch for outcome in outcomes] == [small, large]
    assert outcomes[1].source_records == (300 if missing is None else 7)
    assert {function for function, _, _ in rounds} == {ON_WORKERS}
    assert [kinds for *_, kinds in rounds] == [{list, PartTask}, {PieceTask}, set() if missing is None else {DigestedRange}]


def test_a_piece_that_cannot_be_read_is_the_stretch_s_error() -> None:
    one, other = stretch(0, 100), stretch(1, 100)
    tasks = [each for each in piece_tasks([one, other], 4, 1) if isinstance(each, PieceTask)]
    error = LogMoved("east", "topic 1", 0, "out of range").report()
    answers = [PieceDigest(task, Digest(), error if task.stretch == 1 and not task.of_source else None) for task in tasks]
    found, second = merge_pieces([one, other], answers)
    assert {each.stretch.source.topic: each.error for each in found} == {"topic 0": None, "topic 1": error}
    assert second == []


def test_only_what_is_more_than_a_core_s_share_is_cut_and_no_part_is_too_small() -> None:
    large, small = stretch(0, 900, runs=(Run(0, 0, 900),)), stretch(1, 100)
    (share, *parts) = tasks_of([large, small], 2, 10)
    assert share == [small]
    assert [(each.stretch, each.part.start, each.part.end, each.part.target_start) for each in parts if isinstance(each, PartTask)] == [
        (0, 0, 500, 0),
        (0, 500, 900, 500),
    ]
    assert tasks_of([large, small], 2, 1000) == [[large], [small]]
    for whole in (replace(large, source_ahead=True), replace(large, compacted=True)):
        assert tasks_of([whole, small], 2, 10) == [[whole], [small]], "counted back, or compared by keys"
    assert [(each.of_source, each.part.start, each.piece.end) for each in piece_tasks([large], 2, 10) if isinstance(each, PieceTask)] == [
        (True, 0, 450),
        (True, 450, 900),
        (False, 0, 450),
        (False, 450, 900),
    ]


def test_a_stretch_is_cut_only_where_the_offset_map_ties_both_sides_together() -> None:
    runs = (Run(0, 10, 100), Run(100, 111, 100), Run(700, 711, 200, thinned=True))
    whole = replace(stretch(0, 900, runs=runs), target_start=10, target_end=920)
    parts = cut_at_pairs(whole, 150)
    assert [(each.start, each.end, each.target_start, each.target_end) for each in parts] == [
        (0, 150, 10, 161),
        (150, 700, 161, 711),
        (700, 850, 711, 861),
        (850, 900, 861, 920),
    ]
    assert cut_at_pairs(stretch(0, 900), 100) == [stretch(0, 900)], "nobody knows where"


def test_parts_that_are_all_equal_are_an_equal_stretch_and_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (stretch(number, 100, runs=(Run(0, 0, 100),)) for number in range(2))
    tasks = tasks_of([one, other], 4, 1)

    def equal(_context: Any, parts: Sequence[AuditRange], *, opens_all: bool) -> dict[AuditRange, Outcome]:
        assert opens_all
        return {part: Outcome(part, source_records=7, target_records=7) for part in parts if part.start or part.source == one.source}

    monkeypatch.setattr(module, "equal_ranges", equal)
    answers = [answer for task in tasks for answer in work_on(CONTEXT, task)]
    assert {type(answer) for answer in answers} == {PartAnswer}
    assert merge_parts([one, other], answers) == ([Outcome(one, source_records=14, target_records=14)], [other])


def test_shares_are_about_equally_large_and_none_has_too_many() -> None:
    stretches = [stretch(number, number) for number in range(1, 1200)]
    found = split_evenly(stretches, 2)
    assert sorted(each.offsets for share in found for each in share) == list(range(1, 1200))
    assert len(found) == 3
    sizes = [sum(each.offsets for each in share) for share in found]
    assert max(sizes) - min(sizes) < 1200


SERVER = "sc://127.0.0.1:15002"
CONTEXT = AuditContext("east", "west", 4, ClientSettings({}, {}, {}, {}))


STRETCHES = [stretch(number, 100) for number in range(3)]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> SparkOfThisProcess:
    server = SparkOfThisProcess()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", server.flow_session)
    monkeypatch.setattr("kafka_mirror.spark.run.submit", server.submit)

    def compare(_context: Any, ranges: Sequence[AuditRange]) -> list[Outcome]:
        return [Outcome(stretch=each, source_records=1, target_records=1) for each in ranges]

    monkeypatch.setattr(parallel, "compare_audit_ranges", compare)
    return server


def test_an_audit_by_hand_runs_on_the_server_that_is_named(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    outcomes = parallel.compare_by_hand(make_flow(), SERVER, "audit orders")(CONTEXT, STRETCHES)
    assert sorted(each.stretch.source.topic for each in outcomes) == ["topic 0", "topic 1", "topic 2"]
    assert (spark.sessions, spark.jobs) == ([("audit", "hand: audit orders", SERVER)], [])
    assert spark.tasks[0] == (parallel.ON_WORKERS, 2, 2), "the stretches in shares, one for each core"


def test_an_audit_by_hand_runs_on_the_server_of_the_flows_connection(
    make_flow: Callable[..., Flow], spark: SparkOfThisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": "15002", "password": "t/1"}
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [lambda _connection, field: of(fields, field)])
    parallel.compare_by_hand(make_flow({"mirror.spark.connection": "mirror_spark"}), None, "audit")(CONTEXT, STRETCHES)
    assert spark.sessions == [("audit", "hand: audit", f"{SERVER}/;token=t%2F1")]


def of(fields: dict[str, str], field: str) -> str:
    if field not in fields:
        raise ValueError(f"there is no {field}")
    return fields[field]


def test_another_master_gets_a_job(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    for master in ("spark://one:7077", None):
        outcomes = parallel.compare_by_hand(make_flow(), master, "audit")(CONTEXT, STRETCHES)
        assert sorted(outcomes, key=lambda each: each.stretch.source) == [
            Outcome(stretch=each, source_records=1, target_records=1) for each in STRETCHES
        ]
    assert spark.jobs == [("mirror audit east->west", "spark://one:7077"), ("mirror audit east->west", "local[*,4]")]
    assert spark.sessions == []


def test_what_a_job_found_comes_back_through_files_as_it_was() -> None:
    different = replace(STRETCHES[0], source_left=((3, 5),), runs=(Run(0, 10, 7),), lenient=True)
    difference = Difference("foreign record", "topic 0", 0, "east.topic 0", None, 7)
    error = SparkServerUnavailable("127.0.0.1:15002", "connection refused").report()
    outcomes = (Outcome(stretch=different, error=error, source_records=3, left_out=(LeftOut(1, 3, "why"),), difference=difference),)
    assert from_document(tuple[Outcome, ...], to_document(outcomes)) == outcomes


def test_a_server_that_is_gone_is_the_audits_error(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    spark.failure = SparkServerUnavailable("127.0.0.1:15002", "connection refused")
    with pytest.raises(SparkServerUnavailable):
        parallel.compare_by_hand(make_flow(), SERVER, "audit")(CONTEXT, STRETCHES)


@pytest.mark.parametrize(
    ("command", "by"),
    [
        (["audit"], "audit"),
        (["audit", "--topics", "orders,bills", "--from", "2026-11-20", "--to", "2026-11-21"], "audit orders bills 2026-11-20 2026-11-21"),
        (["backfill", "--from", "2026-11-20", "--to", "2026-11-21"], "backfill 2026-11-20 2026-11-21"),
    ],
)
def test_the_command_line_audits_on_the_server_and_interrupts_no_other_question(
    command: list[str], by: str, make_flow: Callable[..., Flow], spark: SparkOfThisProcess
) -> None:
    flow = make_flow()
    options = parser().parse_args([*command, "--master", SERVER])
    assert len(choose_comparison(flow, options)(CONTEXT, STRETCHES)) == 3
    assert spark.sessions == [("audit", f"hand: {by}", SERVER)]
