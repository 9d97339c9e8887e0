"""The preflight: what it says of the flow and its partitions, and that every question is asked, whatever became of the others."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import preflight as module
from kafka_mirror.cutover.steps.group_survey import WaveGroup, WaveGroups
from kafka_mirror.cutover.steps.preflight import judge_flow, judge_partitions, preflight
from kafka_mirror.cutover.steps.writers import Writers
from kafka_mirror.cutover.wave import move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING
from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupClusters
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.control_records import HANDED_BACK, THROTTLE, Decision
from kafka_mirror.status.status import (
    BEHIND,
    DECIDED,
    FIRST_SIGHT,
    GONE,
    NO_LEADER,
    NO_REMOTE,
    PAUSED,
    UNKNOWN,
    UP_TO_DATE,
    Observation,
    PartitionStatus,
    Status,
)
from tests.unit.cli.command_line import VALID

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS = Topic("orders", "id", (Partition(0, 1, (1,), (1,)),))
ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def flow(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    return load([file]).flow("east->west")


@pytest.fixture
def clusters(monkeypatch):
    """Both clusters answer that all is well; `clusters(name=…)` replaces one question's answer, and gives the names of those asked."""
    calls = []
    answers = {
        "check_configs": lambda *_: (),
        "check_acls": lambda *_: (),
        "survey_opposite_fence": lambda *_: ((), ()),
        "check_rights": lambda *_: (),
        "survey_groups": lambda *_: WaveGroups((WaveGroup("billing", ()),)),
        "survey_writers": lambda *_: Writers(NOW),
    }

    def noted(name, answer):
        def call(*arguments):
            calls.append(name)
            return answer(*arguments)

        return call

    def set_answers(names=("orders",), observation=None, ends=(5, 5), **others):
        for name, answer in (answers | others).items():
            monkeypatch.setattr(module, name, noted(name, answer))
        looks = [{ORDERS_0: end} for end in ends]
        source = Answer(names=lambda: list(names), topics=lambda *_, operation: {"orders": ORDERS}, offsets=lambda *_, errors: looks.pop(0))
        sides = GroupClusters(source, Answer(), Answer(), Answer())
        monkeypatch.setattr(move, "group_clusters", lambda _context: nullcontext(sides))
        monkeypatch.setattr(module, "observe", lambda _flow: observation or Observation("east->west", NOW, 16, comparable=True))
        return calls

    return set_answers


def fails(*_arguments):
    raise DeadlineExceeded("It did not end.", next="Look at the brokers.")


def test_a_wave_that_nothing_stops_may_move(flow, clusters):
    calls = clusters()
    found = preflight(flow, Wave(("orders",)))
    assert (found.may_move, found.topics, [group.name for group in found.groups]) == (True, ("orders",), ["billing"])
    assert len(calls) == 6


@pytest.mark.parametrize(
    "question", ["check_configs", "check_acls", "survey_opposite_fence", "check_rights", "survey_groups", "survey_writers"]
)
def test_a_question_that_fails_stops_the_wave_and_the_others_are_asked_all_the_same(flow, clusters, question):
    calls = clusters(**{question: fails})
    found = preflight(flow, Wave(("orders",)))
    assert [(each.kind, each.code) for each in found.findings if each.kind == STOP] == [(STOP, "DeadlineExceeded")]
    assert len(calls) == 6


def test_an_end_that_moved_while_the_questions_were_asked_is_said(flow, clusters):
    clusters(ends=(5, 8))
    found = preflight(flow, Wave(("orders",)))
    assert (found.writers.growth, [each.code for each in found.findings if each.topic == "orders"]) == ({ORDERS_0: 3}, ["TopicGrows"])


def test_what_is_refused_of_single_topics_stops_it(flow, clusters):
    def refuses(_flow, _topics, _source, _target, refused):
        refused["orders"] = DeadlineExceeded("orders cannot be seen.", next="Look.")
        return []

    clusters(check_configs=refuses)
    assert [each.message for each in preflight(flow, Wave(("orders",))).findings if each.kind == STOP] == ["orders cannot be seen."]


def test_a_wave_without_topics_asks_no_more_and_stops(flow, clusters):
    calls = clusters(names=("payments",))
    found = preflight(flow, Wave(("orders",)))
    assert ([each.code for each in found.findings], found.may_move, calls) == (["PatternMatchesNothing"], False, [])


def test_a_cluster_that_does_not_answer_is_all_that_is_said(flow, clusters):
    silent = {"east": ClusterUnreachable("east", "h:1", 3, "refused").report()}
    calls = clusters(observation=Observation("east->west", NOW, 16, silent=silent, errors=tuple(silent.values())))
    found = preflight(flow, Wave(("orders",)))
    assert ([each.code for each in found.findings], found.may_move, calls) == (["ClusterUnreachable"], False, [])


@pytest.fixture
def judge(tmp_path):
    """`judge("emit.checkpoints.enabled=false", …)`: kind and code of what is said of a flow with these properties."""

    def call(*lines, has_groups=True, decisions=()):
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join([VALID, *lines]))
        found = judge_flow(load([file]).flow("east->west"), has_groups, decisions)
        return [(each.kind, each.code) for each in found]

    return call


def test_a_flow_as_it_is_by_default_says_nothing(judge):
    assert judge() == []


def test_a_flow_without_checkpoints_stops_a_wave_with_groups(judge):
    assert judge("emit.checkpoints.enabled = false") == [(STOP, "NoCheckpoints")]
    assert judge("emit.checkpoints.enabled = false", has_groups=False) == []


def test_offsets_committed_by_schedule_are_a_warning(judge):
    assert judge("sync.group.offsets.enabled = true") == [(WARNING, "GroupOffsetsBySchedule")]
    assert judge("sync.group.offsets.enabled = true", has_groups=False) == []


def test_decisions_about_the_flow_count_while_they_are_in_force(judge):
    throttle, back = (Decision(word, "me", datetime.now(UTC), "a test") for word in (THROTTLE, HANDED_BACK))
    assert judge(decisions=[(throttle, True), (back, True)]) == [(INFORMATION, "Throttled"), (STOP, "HandedBack")]
    assert judge(decisions=[(throttle, False), (back, False)]) == []


def partition(number=0, state=UP_TO_DATE, topic="orders", **facts):
    return PartitionStatus(topic, number, state, **{"lag": 0, **facts})


def said_of(*partitions, errors=(), max_lag=None, topics=("orders",)):
    status = Status("east->west", datetime.now(UTC), partitions, tuple(errors))
    return [(each.kind, each.code, each.message) for each in judge_partitions(status, topics, max_lag)]


def error(topic=None, number=None):
    return ErrorReport("SourceGap", f"gap in {topic}-{number}.", topic, number)


def test_a_wave_that_is_copied_is_said_to_be_so_and_nothing_else():
    assert said_of(partition(), partition(1)) == [
        (INFORMATION, "Lag", "The wave lags by 0 records in all, and by at most 0 in one partition.")
    ]


def test_errors_of_the_flow_and_of_the_wave_stop_it_and_those_of_other_topics_do_not():
    errors = [error(), error("orders"), error("orders", 1), error("payments", 1)]
    found = said_of(partition(error=errors[2]), errors=errors)
    assert [each for each in found if each[0] == STOP] == [(STOP, "SourceGap", each.message) for each in errors[:3]]


def test_a_paused_partition_stops_it_with_who_decided_that():
    found = said_of(partition(state=PAUSED, note="paused by me"), partition(3, PAUSED, note="paused by me"))
    assert found[0] == (STOP, "PartitionsPaused", "orders: partitions 0, 3 are not copied: paused by me.")


@pytest.mark.parametrize(
    ("state", "code"), [(NO_REMOTE, "NoRemotePartition"), (NO_LEADER, "LeaderMissing"), (UNKNOWN, "PartitionStateUnknown")]
)
def test_a_partition_that_nobody_can_vouch_for_stops_it(state, code):
    (found,) = said_of(partition(2, state, lag=None))
    assert found[:2] == (STOP, code)
    assert "orders-2" in found[2]


def test_a_partition_that_is_gone_stops_it_and_with_an_error_it_is_named_once():
    assert [each[:2] for each in said_of(partition(state=GONE, lag=None))] == [(STOP, "SourcePartitionGone")]
    told = error("orders", 0)
    assert [each[:2] for each in said_of(partition(state=NO_REMOTE, lag=None, error=told), errors=[told])] == [(STOP, "SourceGap")]


@pytest.mark.parametrize(("state", "code"), [(DECIDED, "DecisionPending"), (FIRST_SIGHT, "NotCopiedYet")])
def test_what_the_next_copy_does_is_a_warning(state, code):
    assert said_of(partition(state=state, note="restart by me"))[0][:2] == (WARNING, code)


def test_lag_stops_it_only_beyond_what_was_allowed_and_each_such_partition_is_named():
    late = [partition(state=BEHIND, lag=10), partition(1, BEHIND, lag=11), partition(2, BEHIND, lag=5_000)]
    assert [each[1:] for each in said_of(*late, max_lag=10) if each[0] == STOP] == [
        ("WaveBehind", "orders: 2 of 3 partitions are more than 10 records behind: 1 (11), 2 (5,000).")
    ]
    assert not [each for each in said_of(*late, max_lag=5_000) if each[0] == STOP]
    assert not [each for each in said_of(*late) if each[0] == STOP]
    assert said_of(*late)[-1][2] == "The wave lags by 5,021 records in all, and by at most 5,000 in one partition."


def test_zero_is_a_limit_too():
    assert said_of(partition(state=BEHIND, lag=1), max_lag=0)[0][0] == STOP


def test_partitions_of_other_topics_are_not_judged():
    assert said_of(partition(topic="payments", state=PAUSED, note="PartitionsPaused")) == []
