"""What consumer groups say against a wave."""

import pytest

from kafka_mirror.cutover.groups.model import WaveGroup, WaveGroups, WavePosition, group_findings
from kafka_mirror.cutover.wave.findings import INFORMATION, STOP, WARNING
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, TranslatedOffset, no_answer
from kafka_mirror.kafka.model import GroupMember

EXACTLY = TranslatedOffset(EXACT, 5, 5, 0)
MEMBER = GroupMember("app-1", "/10.0.0.7")


def group(*answers, there=None, **facts):
    positions = tuple(WavePosition("orders", number, 12, answer, there) for number, answer in enumerate(answers))
    return WaveGroup("billing", positions, **facts)


def findings(*groups, **facts):
    return list(group_findings(WaveGroups(groups, **facts), "east", "west"))


def only(*groups, **facts):
    (found,) = findings(*groups, **facts)
    return found.kind, found.code, found.message


def test_a_group_with_exact_positions_and_without_members_says_nothing():
    assert findings(group(EXACTLY, EXACTLY)) == []


def test_a_group_without_an_answer_stops_it_with_position_and_reason():
    kind, code, message = only(group(EXACTLY, no_answer("the ledger cannot be read")))
    assert (kind, code) == (STOP, "GroupWithoutAnswer")
    assert "billing: 1 of 2 positions" in message
    assert "orders-1@12 (the ledger cannot be read)" in message


def test_a_group_that_lacks_records_on_the_target_stops_it_too():
    assert only(group(TranslatedOffset(INCOMPLETE, 0, 5, 5)))[:2] == (STOP, "GroupWithoutAnswer")


def test_a_group_that_would_read_records_again_stops_it_with_how_many():
    early = TranslatedOffset(EARLY, 3, 9, 600)
    assert only(group(early, early, EXACTLY)) == (
        STOP,
        "GroupNotExact",
        "billing: it reads at most 1,200 records again, from 2 of 3 positions.",
    )
    assert "an unknown number of records" in only(group(early, TranslatedOffset(EARLY, 3)))[2]


def test_an_early_answer_that_reads_nothing_again_is_as_good_as_exact():
    assert findings(group(TranslatedOffset(EARLY, 3, 3, 0))) == []


def test_what_a_group_has_read_ahead_of_the_copy_is_information():
    assert only(group(TranslatedOffset(EXACT, 5, 5, 0, ahead=7)))[:2] == (INFORMATION, "GroupAheadOfCopy")


def test_members_on_the_source_are_a_warning_and_on_the_target_a_stop_and_all_are_named():
    here = only(group(EXACTLY, members=(MEMBER, MEMBER)))
    assert here == (WARNING, "GroupActive", "billing: it has 2 members (app-1 on 10.0.0.7, app-1 on 10.0.0.7) on east.")
    there = only(group(EXACTLY, target_members=(MEMBER,)))
    assert there[:2] == (STOP, "GroupActiveOnTarget")
    assert "it has 1 member (app-1 on 10.0.0.7) on west, so" in there[2]


@pytest.mark.parametrize(("there", "warned"), [(None, False), (4, False), (5, False), (6, True)])
def test_a_group_that_stands_further_on_on_the_target_is_a_warning(there, warned):
    assert [each.code for each in findings(group(EXACTLY, there=there))] == ["GroupFurtherOnTarget"] * warned


def test_a_wave_that_splits_a_groups_topics_stops_with_the_topics():
    kind, code, message = only(group(EXACTLY, outside=("invoices", "payments")))
    assert (kind, code) == (STOP, "GroupSplit")
    assert message.endswith("stay on the source: invoices, payments.")


def test_a_group_that_the_flow_writes_no_checkpoints_for_is_a_warning():
    assert only(group(EXACTLY, has_checkpoints=False))[:2] == (WARNING, "GroupWithoutCheckpoints")


def test_patterns_without_groups_stop_it_and_groups_that_they_leave_out_are_a_warning():
    assert only(unmatched=("none.*",))[:2] == (STOP, "PatternMatchesNothing")
    assert only(group(EXACTLY), left_out=("old", "older")) == (
        WARNING,
        "GroupsLeftOut",
        "--groups leaves out groups with positions in topics of the wave, which are not moved: old, older.",
    )
    assert only(group(EXACTLY), shares=("fair",))[:2] == (WARNING, "GroupOfAnotherKind")


def test_a_wave_without_groups_is_said_to_be_one():
    assert only()[:2] == (INFORMATION, "NoGroups")
