"""`cutover plan` on the command line: what it takes, its exit codes, and what it prints."""

import json
from datetime import UTC, datetime

import pytest

from kafka_mirror.cli import cutover_parts as module
from kafka_mirror.cutover.steps.group_survey import WaveGroup
from kafka_mirror.cutover.steps.preflight import Preflight
from kafka_mirror.cutover.steps.writers import Writers
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import information, stop, warning
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import EARLY, TranslatedOffset
from kafka_mirror.kafka.model import ActiveProducer, Committed, GroupMember
from kafka_mirror.status.status import BEHIND, PartitionStatus

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
PLAN = ("cutover", "plan", "--flow", "east->west", "--topics", "orders.*, pay")
HERE, THERE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
POSITION = GroupOffset("billing", HERE, Committed(12), THERE, TranslatedOffset(EARLY, 3, 9, 600), None)
GROUP = WaveGroup("billing", (POSITION,), (), (GroupMember("app", "/h"),), there={THERE: Committed(2)})
WRITERS = Writers(NOW, {TopicPartition("orders", 0): (ActiveProducer(7, 1, None, None),)})
INFORMS = information("Lag", "It is behind.")
WARNS = warning(ErrorReport("GroupActive", "It runs.", next="Stop it."))
STOPS = stop(ErrorReport("WaveBehind", "Late.", next="Wait."))


@pytest.fixture
def answers(monkeypatch):
    """Makes a preflight say these findings; gives the waves that were asked about."""
    waves = []

    def set_findings(*findings):
        def answer(_flow, wave):
            waves.append(wave)
            return Preflight(NOW, ("orders",), (PartitionStatus("orders", 0, BEHIND, lag=9),), (GROUP,), WRITERS, findings)

        monkeypatch.setattr(module, "preflight", answer)
        return waves

    return set_findings


def test_a_wave_that_may_move_ends_well_and_warnings_do_not_change_that(run, answers):
    waves = answers(WARNS, INFORMS)
    code, output, words = run(*PLAN)
    assert (code, words) == (0, "")
    assert waves == [Wave(("orders.*", "pay"), (), None)]
    assert "1 topics with 1 partitions, 1 groups. Nothing stops the wave, 1 warning." in output
    assert output.endswith("warning GroupActive: It runs. Next: Stop it.\ninformation Lag: It is behind.\n")
    (row,) = [line.split() for line in output.splitlines() if line.startswith("billing")]
    assert row == ["billing", "1", "0", "600", "0", "1", "0"]


def test_a_stop_is_exit_code_1_and_said_with_its_next_step(run, answers):
    waves = answers(STOPS, WARNS)
    code, output, _ = run(*PLAN, "--groups", "bill.*", "--max-lag", "0")
    assert code == 1
    assert waves == [Wave(("orders.*", "pay"), ("bill.*",), 0)]
    assert "The wave cannot move: 1 stop, 1 warning." in output
    assert "stop WaveBehind: Late. Next: Wait.\n" in output


def test_the_document_has_the_wave_its_partitions_groups_producers_and_findings(run, answers):
    answers(STOPS)
    (flow,) = json.loads(run(*PLAN, "--json")[1])["flows"]
    result = flow["result"]
    assert (flow["state"], flow["errors"], result["may_move"]) == ("failed", [], False)
    assert result["wave"] == {"topics": ["orders.*", "pay"], "groups": [], "max_lag": None}
    assert result["partitions"] == [{"topic": "orders", "partition": 0, "state": "behind", "lag": 9}]
    assert result["findings"] == [STOPS.as_document()]
    (group,) = result["groups"]
    assert group["positions"][0]["answer"] == "early"
    assert group["members"] == [{"client_id": "app", "host": "/h", "member_id": ""}]
    assert result["producers"][0]["producer_id"] == 7
    assert result["producers"][0]["recent"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cutover",), "cutover needs to know what to do"),
        (("cutover", "plan"), "cutover plan needs --flow and --topics"),
        ((*PLAN, "--max-lag", "-1"), "'-1' is no number of records"),
        ((*PLAN, "--groups", "("), "is no Java regular expression"),
        (("cutover", "plan", "--flow", "east->west", "--topics", ","), "it names no pattern"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(run, arguments, words):
    code, _, said = run(*arguments)
    assert code == 2
    assert words in said
    assert "Next:" in said
