"""What is a problem, what is none, and what is only the consequence of another one."""

from dataclasses import replace

import pytest

from kafka_mirror.config.deadlines import Limits
from kafka_mirror.policy import IdleMembers
from kafka_mirror.status.judge import problems
from kafka_mirror.status.observation import CheckObservation, with_waits
from kafka_mirror.status.problems import TOPICS_ALONE, CheckResult
from kafka_mirror.status.status import (
    DECIDED,
    FAILED,
    FIRST_SIGHT,
    GONE,
    LEDGER_UNREADABLE,
    NO_REMOTE,
    OPEN_TRANSACTION,
    PAUSED,
    TARGET_UNAVAILABLE,
    UNKNOWN,
    PartitionStatus,
)
from tests.unit.status.observations import beats, error, hidden, partition, seen, written

LIMITS = Limits(lag=100, lag_records=None, progress=200, copy=300, heartbeats=150, unreachable=250)


def judgement(*checks: CheckObservation, limits: Limits = LIMITS) -> CheckResult:
    """What the last of these checks comes to; the memory begins with the first."""
    memory = None
    for each in checks:
        seen_so_far = with_waits(each, memory)
        memory = seen_so_far.memory
    return problems(seen_so_far, limits)


def opened(found: CheckResult) -> dict[str, str | None]:
    """The problems that may become alerts: kind -> what."""
    return {each.kind: each.what for each in found.problems if each.opens}


def kept(found: CheckResult) -> set[str]:
    """The kinds of problems that only keep an alert open."""
    return {each.kind for each in found.problems} - opened(found).keys()


def test_a_flow_without_work_or_errors_has_no_problem() -> None:
    assert judgement(seen(0, partition(5, 5)), seen(10_000, partition(5, 5))).problems == ()


def test_a_partition_that_is_behind_for_too_long_is_late_and_the_worst_is_named_first() -> None:
    busy = [partition(0, 5, 1, written=written(0)), partition(50, 99, 0, written=written(0))]
    checks = [seen(0, *busy), seen(101, partition(4, 5, 1, written=written(101)), partition(60, 99, 0, written=written(101)))]
    [problem] = judgement(*checks).problems
    assert (problem.kind, problem.what) == ("Behind", None)
    assert problem.summary == "The mirror is 1 min 41 s and 40 records behind; allowed: 1 min 40 s."
    assert problem.detail.splitlines()[0] == "orders-0: 39 records behind, 1 min 41 s"


def test_records_are_counted_over_all_partitions_of_the_flow() -> None:
    limits = Limits(lag=None, lag_records=99, progress=None, copy=None)
    busy = [partition(0, 50, number, written=written(0)) for number in (0, 1)]
    assert opened(judgement(seen(0, *busy), limits=limits)) == {"Behind": None}
    assert judgement(seen(0, busy[0]), limits=limits).problems == ()


def test_a_record_that_says_it_is_of_last_year_waits_since_it_was_seen() -> None:
    old = partition(0, 5, oldest_seconds=3e7, written=written(0))
    assert judgement(seen(0, old), seen(50, old)).problems == ()
    assert opened(judgement(seen(0, old), seen(150, old))) == {"Behind": None}


def test_a_record_that_is_younger_than_the_first_look_at_its_offset_waits_since_its_own_time() -> None:
    young = partition(0, 5, oldest_seconds=60, written=written(0))
    assert judgement(seen(0, young), seen(150, young)).problems == ()


def test_a_record_that_says_it_is_of_next_year_waits_since_it_was_seen() -> None:
    ahead = partition(0, 5, oldest_seconds=0.0, written=written(0))
    assert opened(judgement(seen(0, ahead), seen(150, ahead))) == {"Behind": None}


def test_a_memory_that_is_lost_while_a_cluster_is_away_is_lost_until_it_is_back() -> None:
    away = seen(0, comparable=False, errors=[error("ClusterUnreachable", retriable=True)])
    assert opened(judgement(away, seen(60, partition(0, 5, oldest_seconds=150, written=written(-10))))) == {"Behind": None}


def test_without_a_memory_the_records_own_times_count_so_that_a_lost_memory_is_not_silent() -> None:
    assert opened(judgement(seen(0, partition(0, 5, oldest_seconds=150, written=written(-10))))) == {"Behind": None}


def test_a_flow_that_was_just_set_up_is_not_late_for_a_backlog_of_whatever_age() -> None:
    backlog = partition(None, 5, oldest_seconds=3e7)
    assert judgement(seen(0, backlog)).problems == ()
    assert opened(judgement(seen(0, backlog), seen(310, backlog))) == {"NotCopying": None}


def test_a_watermark_that_stands_still_while_others_move_is_told_by_topic() -> None:
    still = partition(0, 9, 3, written=written(0))
    checks = [seen(0, still, partition(0, 9, written=written(0))), seen(210, still, partition(9, 12, written=written(210)))]
    found = judgement(*checks)
    assert opened(found) == {"NoProgress": "orders"}
    [problem] = [each for each in found.problems if each.opens]
    assert (problem.topic, problem.partition) == ("orders", 3)
    assert "orders-3 made no progress" in problem.summary
    assert "Behind" in kept(found), "late as well: it keeps an alert open that there is, and is none beside"


def test_nothing_copied_though_there_is_work_is_one_alert_and_not_one_a_partition() -> None:
    waiting = [partition(0, 9, number, topic, written=written(-500)) for topic in ("a", "b", "c") for number in range(20)]
    found = judgement(seen(0, *waiting), seen(310, *waiting))
    assert opened(found) == {"NotCopying": None}
    assert kept(found) == {"Behind", "NoProgress"}
    assert "Nothing was copied for 13 min 30 s, and there is work for 5 min 10 s." in found.problems[0].summary


@pytest.mark.parametrize("days", [-1, 1])
def test_a_ledger_record_of_a_host_whose_clock_is_a_day_off_hides_nothing_and_alarms_nobody(days: int) -> None:
    off = partition(5, 5, 1, written=written(days * 86_400))
    waiting = partition(0, 9, written=written(-500))
    assert opened(judgement(seen(0, waiting, off), seen(310, waiting, off))) == {"NotCopying": None}
    copied = partition(5, 5, 2, written=written(300))
    assert "NotCopying" not in opened(judgement(seen(0, waiting, off), seen(310, waiting, off, copied)))


def test_a_flow_that_has_never_copied_is_told_too() -> None:
    first = partition(None, 9, state=FIRST_SIGHT)
    assert opened(judgement(seen(0, first), seen(310, first))) == {"NotCopying": None}


def test_one_partition_that_stands_still_does_not_mean_that_nothing_is_copied() -> None:
    limits = Limits(copy=300, progress=None, lag=None)
    checks = [seen(60.0 * n, partition(0, 9, written=written(60 * n)), partition(9, 9, 1, written=written(60 * n))) for n in range(9)]
    assert judgement(*checks, limits=limits).problems == ()


def test_what_waited_when_a_cluster_went_away_has_waited_when_it_is_back() -> None:
    late = partition(0, 9, written=written(0))
    silent = error("ClusterUnreachable", retriable=True)
    away = seen(60, comparable=False, silent={"east": silent}, errors=[silent])
    assert opened(judgement(seen(0, late), away, seen(120, late))) == {"Behind": None}


def test_a_quiet_source_is_no_alert_however_long_nothing_was_copied() -> None:
    assert judgement(seen(0, partition(9, 9, written=written(-1e6))), seen(1e5, partition(9, 9, written=written(-1e6)))).problems == ()


def test_work_that_comes_after_a_quiet_week_has_its_time_to_be_copied() -> None:
    quiet = written(-600_000)
    checks = [
        seen(0, partition(9, 9, written=quiet)),
        seen(60, partition(9, 10, written=quiet)),
        seen(120, partition(9, 10, written=quiet)),
    ]
    assert judgement(*checks).problems == ()


def test_paused_partitions_and_open_transactions_are_late_in_nothing() -> None:
    alone = [partition(0, 9, 0, state=PAUSED), partition(9, 50, 1, state=OPEN_TRANSACTION, last_stable=9)]
    assert judgement(seen(0, *alone), seen(1e6, *alone)).problems == ()


def test_an_error_that_needs_a_person_is_told_by_topic_with_what_to_do() -> None:
    gaps = [error("SourceGap", "orders", 0), error("SourceGap", "orders", 4), error("SourceGap", "bills", 1)]
    found = judgement(seen(0, partition(5, 5), errors=gaps))
    problems = [each for each in found.problems if each.opens]
    assert [(each.kind, each.what, each.partition, each.next.text) for each in problems] == [
        ("SourceGap", "bills", 1, "mend bills"),
        ("SourceGap", "orders", None, "mend orders"),
    ]
    assert problems[1].summary == "Source gap: 2 partitions of orders"
    assert problems[1].detail.splitlines() == ["SourceGap of orders-0.", "SourceGap of orders-4."]
    assert problems[1].severity == "critical"
    assert [each.size for each in problems] == [1, 2]


def test_a_partition_with_an_error_of_its_own_is_not_late_as_well() -> None:
    stuck = partition(0, 9, state=FAILED, written=written(0))
    found = judgement(seen(0, stuck), seen(1000, stuck, errors=[error("RecordRefused", "orders", 0)]))
    assert opened(found) == {"RecordRefused": "orders"}
    assert kept(found) == {"Behind"}


def test_an_error_of_very_many_topics_is_one_alert() -> None:
    refused = [error("AuthorizationRefused", f"topic-{number:02}") for number in range(TOPICS_ALONE + 1)]
    found = judgement(seen(0, errors=refused))
    assert [each.what for each in found.problems if each.opens] == [None]
    assert len(found.problems) == TOPICS_ALONE + 2, "those of single topics keep alerts open that there are"
    few = judgement(seen(0, errors=refused[1:]))
    assert [each.what for each in few.problems if each.opens] == [each.topic for each in refused[1:]]


def test_an_error_of_the_flow_and_of_topics_are_two_matters() -> None:
    found = judgement(seen(0, errors=[error("AuthorizationRefused"), error("AuthorizationRefused", "orders")]))
    assert [(each.what, each.opens, each.shared) for each in found.problems] == [(None, True, False), ("orders", True, False)]


def test_errors_that_usually_end_by_themselves_have_their_time() -> None:
    [problem] = judgement(seen(0, errors=[error("TargetUnavailable", "orders", n, retriable=True) for n in range(3)])).problems
    assert (problem.kind, problem.what, problem.for_seconds) == ("TargetUnavailable", None, 250)
    assert "and 2 more" in problem.summary
    assert judgement(seen(0, errors=[error("KafkaFailure", retriable=True)]), limits=Limits(unreachable=None)).problems == ()


def test_a_silent_cluster_is_one_problem_and_nothing_else_is_judged_meanwhile() -> None:
    silent = error("ClusterUnreachable", retriable=True)
    found = judgement(
        seen(0, partition(0, 9)),
        seen(9000, partition(0, 9, lag=None, state=UNKNOWN), errors=[silent], silent={"east": silent}, comparable=False),
    )
    assert opened(found) == {"ClusterUnreachable": "east"}
    assert found.problems[0].for_seconds == 250
    assert not found.judged("Behind")
    assert not found.judged("SourceGap")
    assert found.judged("ClusterUnreachable")


def test_a_cluster_that_refuses_us_is_told_sooner_than_one_that_is_silent() -> None:
    refused = error("AuthenticationFailed")
    [problem] = judgement(seen(0, comparable=False, errors=[refused], silent={"west": refused})).problems
    assert (problem.what, problem.for_seconds, problem.summary) == ("west", LIMITS.for_seconds, "Cluster west refuses the connection.")


def test_what_a_decision_leads_to_is_late_when_it_is_not_copied_however_far_the_watermark_that_it_leaves_behind() -> None:
    def restarted(seconds: float, **fields: int) -> PartitionStatus:
        return partition(100, fields["end"], lag=fields["end"], state=DECIDED, oldest_seconds=3e7, written=written(seconds))

    for end in (50, 100, 5000):
        still = restarted(0, end=end)
        assert opened(judgement(seen(0, still), seen(310, still))) == {"NotCopying": None}
        busy = [seen(0, still, partition(0, 9, 1)), seen(210, still, partition(9, 9, 1, written=written(210)))]
        assert opened(judgement(*busy)) == {"NoProgress": "orders"}


def test_what_waits_for_a_remote_partition_is_late_like_all_others_and_a_refusal_that_keeps_it_back_is_the_one_alert() -> None:
    waiting, well = partition(None, 9, topic="new", state=NO_REMOTE), partition(9, 9, written=written(210))
    found = judgement(seen(0, waiting, well), seen(210, waiting, well))
    assert opened(found) == {"NoProgress": "new"}
    assert "refresh-topics" in next(each for each in found.problems if each.what == "new").next.text
    assert opened(judgement(seen(0, waiting, well), seen(110, waiting, well))) == {"Behind": None}

    told = error("RemoteTopicRefused", "new")
    refused = replace(waiting, error=told)
    checks = [seen(0, refused, well, errors=[told]), seen(1000, refused, well, errors=[told])]
    assert opened(judgement(*checks)) == {"RemoteTopicRefused": "new"}
    assert {each.kind for each in judgement(*checks).problems} == {"RemoteTopicRefused", "Behind"}, "one that is open is not over"


def test_of_places_that_were_not_seen_it_is_not_known_whether_a_problem_is_over() -> None:
    def unseen(*partitions: PartitionStatus) -> set[tuple[str, int | None]]:
        return set(judgement(seen(0, *partitions)).unseen)

    assert unseen(hidden(0), partition(5, 9, 1)) == {("orders", 0)}
    assert unseen(hidden(0)) == {("orders", 0), ("orders", None)}, "nothing of the topic was seen"
    assert unseen(partition(None, 9, state=LEDGER_UNREADABLE, lag=None), partition(5, 5, 1)) == {("orders", 0)}
    assert unseen(partition(5, 9, state=TARGET_UNAVAILABLE), partition(5, 5, 1)) == {("orders", 0)}
    assert unseen(partition(None, 9, state=FIRST_SIGHT, lag=None), partition(5, 5, 1)) == {("orders", 0)}
    assert unseen(*(hidden(state=state) for state in (GONE, PAUSED))) == set()
    assert unseen(partition(None, 9, state=NO_REMOTE)) == set(), "its records are counted like all others"
    assert ("orders", 0) in unseen(hidden(state=NO_REMOTE))
    assert unseen(partition(5, 9, state="recreated", lag=None)) == set()


def test_every_problem_of_places_says_which_they_are() -> None:
    late = partition(0, 9, written=written(0))
    gap, refused, later = error("SourceGap", "orders", 0), error("AuthorizationRefused", "bills"), error("X", "orders", 3, retriable=True)
    checks = [seen(0, late), seen(210, late, partition(5, 5, 1, written=written(210)), hidden(2), errors=[gap, refused, later])]
    found = {(each.kind, each.what): set(each.places) for each in judgement(*checks).problems}
    assert found == {
        ("NoProgress", "orders"): {("orders", 0)},
        ("NoProgress", None): {("orders", 0)},
        ("Behind", None): {("orders", 0)},
        ("SourceGap", "orders"): {("orders", 0)},
        ("SourceGap", None): {("orders", 0)},
        ("AuthorizationRefused", "bills"): {("bills", None)},
        ("AuthorizationRefused", None): {("bills", None)},
        ("X", None): {("orders", 3)},
    }
    assert judgement(seen(0, errors=[error("OtherCluster")])).problems[0].places == frozenset()


def test_that_nothing_is_copied_is_over_with_a_copy_and_not_because_what_waited_cannot_be_seen() -> None:
    assert not judgement(seen(1000, hidden(0))).judged("NotCopying")
    assert judgement(seen(1000, partition(5, 5))).judged("NotCopying")
    assert judgement(seen(1000, hidden(0), partition(5, 5, 1, written=written(800)))).judged("NotCopying")
    assert not judgement(seen(1000, hidden(0), partition(5, 5, 1, written=written(600)))).judged("NotCopying")
    assert judgement(seen(1000, hidden(0)), limits=Limits(copy=None)).judged("NotCopying")


def test_heartbeats_that_stopped_are_told_by_their_way() -> None:
    found = judgement(seen(200, beats=[beats("east.heartbeats", 0), beats("heartbeats", 199, mirrored=False)]))
    assert opened(found) == {"HeartbeatsStopped": "east.heartbeats"}
    assert found.problems[0].summary == "No heartbeat by east.heartbeats for 3 min 20 s."


def test_mirrored_heartbeats_that_stop_with_the_copy_or_the_source_are_no_alert_of_their_own() -> None:
    waiting = partition(0, 9, written=written(-500))
    old = [beats("east.heartbeats", -500), beats("heartbeats", -500, mirrored=False)]
    found = judgement(seen(0, waiting), seen(310, waiting, beats=old))
    assert opened(found) == {"NotCopying": None, "HeartbeatsStopped": "heartbeats"}
    silent = error("ClusterUnreachable", retriable=True)
    down = judgement(seen(0, comparable=False, silent={"east": silent}, errors=[silent], beats=old[:1]))
    assert opened(down) == {"ClusterUnreachable": "east"}


def test_heartbeats_that_cannot_be_read_are_not_judged() -> None:
    assert not judgement(seen(0, beats=None)).judged("HeartbeatsStopped")
    assert judgement(seen(0)).judged("HeartbeatsStopped")


def test_a_check_that_cannot_look_says_so_and_judges_nothing_else() -> None:
    found = judgement(seen(0, comparable=False, beats=None, failure="KeyError: 'x'"))
    assert opened(found) == {"CheckFailed": None}
    assert not found.judged("ClusterUnreachable")


def test_lateness_is_as_big_as_the_number_of_times_that_are_allowed_and_within_a_quarter_of_an_hour_always_the_same() -> None:
    def size(waited: float, **limits: float) -> float:
        late = partition(0, 50, written=written(waited - 10))
        [problem] = [each for each in judgement(seen(0, late), seen(waited, late), limits=Limits(**limits)).problems if each.opens]
        return problem.size

    only = {"progress": None, "copy": None}
    assert (size(200, lag=100, **only), size(1800, lag=100, **only), size(9000, lag=1800, **only)) == (1, 2, 5)
    assert size(10, lag=None, lag_records=10, **only) == 5
    waiting = partition(0, 9, written=written(-500))
    assert judgement(seen(0, waiting), seen(3600, waiting), limits=Limits(lag=None)).problems[0].size == 4


def test_every_limit_can_be_switched_off() -> None:
    never = Limits(lag=None, lag_records=None, progress=None, copy=None, heartbeats=None, unreachable=None)
    waiting = partition(0, 9, written=written(-500))
    silent = error("ClusterUnreachable", retriable=True)
    assert judgement(seen(0, waiting), seen(1e6, waiting, beats=[beats("heartbeats", 0)]), limits=never).problems == ()
    assert judgement(seen(0, comparable=False, silent={"east": silent}, errors=[silent]), limits=never).problems == ()


def test_a_flow_that_names_topics_and_takes_none_is_a_problem_that_may_become_an_alert_after_the_deadline_of_the_copy() -> None:
    amiss = IdleMembers("topics", "topic", "east", ("ordres",), is_whole_list=True)
    [problem] = judgement(taking(amiss)).problems
    assert (problem.kind, problem.for_seconds, problem.opens) == ("NothingMirrored", 300, True)
    assert "'ordres'" in problem.summary
    assert judgement(taking(amiss), limits=replace(LIMITS, copy=None)).problems == ()


@pytest.mark.parametrize(
    "idle",
    [None, IdleMembers("topics", "topic", "east", ("x",)), IdleMembers("topics", "topic", "east", (".*",), True, is_expected=True)],
)
def test_a_flow_that_takes_something_or_waits_for_any_first_topic_has_no_problem(idle: IdleMembers | None) -> None:
    assert judgement(taking(idle)).problems == ()


def taking(idle: IdleMembers | None) -> CheckObservation:
    observation = seen(0)
    return replace(observation, status=replace(observation.status, idle=idle))
