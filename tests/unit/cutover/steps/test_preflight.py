"""The preflight as a whole: every question is asked, whatever became of the others."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import preflight as module
from kafka_mirror.cutover.steps.group_survey import WaveGroup, WaveGroups
from kafka_mirror.cutover.steps.preflight import preflight
from kafka_mirror.cutover.steps.writers import Writers
from kafka_mirror.cutover.wave import move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import STOP
from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupClusters
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.status.status import Observation
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
