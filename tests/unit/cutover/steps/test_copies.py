"""When catching up goes on, waits and stops, how fast it is, and whose errors count."""

from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.cutover.steps import copies
from kafka_mirror.cutover.steps.copies import WaveLag, forecast_catch_up, report_unplanned, select_errors, show_forecast
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.cutover.wave.step import AUDIT_GATE, DONE, STOPPED, StepOptions, StepOutcome, stop
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
MOVE = Answer(wave=Wave(("orders",)), topics=WaveTopics(("orders",)), flow=Answer(name="east->west"))
OPTIONS = StepOptions("w", "ada", "test", dry_run=False, max_lag=0)
BUSY = ErrorReport("LaneTaken", "Another run has it.", retriable=True)
DIFFERS = stop(ErrorReport("AuditDifferent", "orders-0@7 differs."))
LOST = ErrorReport("SourceGap", "Gone.", "orders", 0)


@pytest.fixture
def run(monkeypatch):
    """Runs the step with a lag and, of the pass behind it, records and errors, look after look; gives the outcome and the passes."""

    def call(*looks, stops=(), differs=False):
        plans, passes, audits = iter(looks), [], []

        def audit_ahead(*_):
            audits.append(len(passes))
            return StepOutcome(AUDIT_GATE, STOPPED if differs else DONE, ("Audited.",), (DIFFERS,) if differs else ())

        def plan_wave(_move, _dry_run):
            lag, *brought = next(plans, looks[-1][:1])
            passes.append(brought)
            plan = Answer(has_work=bool(brought), notices=())
            return Answer(plan=plan, sample=WaveLag(float(len(passes)), {ORDERS: 1_000 - lag}, {ORDERS: 1_000}), stops=stops)

        def copy_wave(*_):
            records, *errors = passes[-1]
            return Answer(records=records, errors=tuple(errors))

        monkeypatch.setattr(copies, "plan_wave", plan_wave)
        monkeypatch.setattr(copies.WaveCopy, "copy", copy_wave)
        monkeypatch.setattr(copies, "audit_ahead", audit_ahead)
        monkeypatch.setattr(copies.time, "sleep", lambda _: None)
        return copies.catch_up(MOVE, Answer(), OPTIONS), audits[0] if audits else len(passes)

    return call


def test_passes_go_on_until_the_lag_is_small_enough(run):
    outcome, looks = run((30, 10), (20, 20), (0,))
    assert (outcome.state, looks, outcome.facts["passes"], outcome.facts["records"]) == (DONE, 3, 2, 30)


def test_what_is_copied_is_audited_before_the_fence_and_what_came_meanwhile_is_copied(run):
    outcome, looks = run((30, 30), (0,), (500, 500), (0,))
    assert (outcome.state, looks, outcome.facts["passes"], outcome.facts["records"]) == (DONE, 2, 2, 530)
    assert outcome.lines[0] == "Audited."


def test_a_difference_stops_the_wave_before_anybody_is_kept_from_writing(run):
    outcome, _ = run((30, 30), (0,), differs=True)
    assert (outcome.state, outcome.findings) == (STOPPED, (DIFFERS,))
    assert outcome.facts["records"] == 30


def test_an_error_that_mends_itself_is_tried_again_and_one_that_does_not_stops(run):
    assert run((30, 0, BUSY), (30, 0, BUSY), (30, 30), (0,))[0].state == DONE
    outcome, _ = run((30, 0, BUSY), (30, 0, LOST), (30,))
    assert (outcome.state, outcome.facts["passes"]) == (STOPPED, 2)
    assert [each.code for each in outcome.findings] == ["WaveBehind", "SourceGap"]


def test_errors_that_never_mend_themselves_stop_after_some_passes_without_progress(run):
    outcome, _ = run(*[(30, 0, BUSY)] * 9)
    assert (outcome.state, outcome.facts["passes"]) == (STOPPED, 3)
    assert [each.code for each in outcome.findings] == ["WaveBehind", "LaneTaken"]
    assert run((30, 0, BUSY), (30, 0, BUSY), (20, 10, BUSY), (20, 0, BUSY), (0,))[0].state == DONE, "progress begins the count anew"


def test_a_wave_that_is_held_back_is_looked_at_again_without_a_copy(run):
    outcome, looks = run((5,), (5,), (0,))
    assert (outcome.state, looks, outcome.facts["passes"]) == (DONE, 3, 0)


def test_what_the_plan_says_against_the_wave_stops_before_anything_is_copied(run):
    outcome, looks = run((30, 30), stops=(stop(ErrorReport("NotCopied", "Paused.")),))
    assert (outcome.state, looks, outcome.facts["passes"]) == (STOPPED, 1, 0)


def test_partitions_that_the_plan_is_silent_about_are_a_stop_with_its_notices():
    (finding,) = report_unplanned([ORDERS], ("orders is left out: pause by ada", "payments: something else"))
    assert (finding.code, finding.message) == ("NotCopied", "The copy leaves out orders-0. orders is left out: pause by ada")


def test_errors_of_other_topics_are_none_of_the_wave_and_those_of_the_flow_are():
    others = ErrorReport("SourceGap", "Gone.", "payments", 0)
    assert select_errors([LOST, others, BUSY, LOST], {"orders"}) == (LOST, BUSY)


A, B = ORDERS, TopicPartition("orders", 1)


def sample(time, marks, ends):
    return WaveLag(time, dict(zip((A, B), marks, strict=True)), dict(zip((A, B), ends, strict=True)))


FIRST, SECOND = sample(10.0, (0, 0), (1000, 100)), sample(20.0, (400, 100), (1100, 100))


def test_lag_is_what_lies_between_watermark_and_end():
    assert (SECOND.total, SECOND.most, SECOND.lags) == (700, 700, {A: 700, B: 0})
    assert (FIRST.list_over(100), FIRST.list_over(99)) == ({A: 1000}, {A: 1000, B: 100})
    assert WaveLag(0.0, {A: 5}, {A: 3}).total == 0


@pytest.mark.parametrize("samples", [[], [FIRST], [FIRST, FIRST]])
def test_two_samples_and_time_between_them_make_a_rate(samples):
    assert forecast_catch_up(samples, 0) is None


def test_the_excess_goes_down_by_what_is_copied_less_what_is_written():
    forecast = forecast_catch_up([FIRST, SECOND], 300)
    assert (forecast.copied, forecast.added, forecast.seconds) == (50.0, 10.0, 10.0)


def test_a_wave_that_has_caught_up_takes_no_time_and_one_that_falls_behind_never_will():
    assert forecast_catch_up([FIRST, SECOND], 700).seconds == 0.0
    slow = sample(20.0, (10, 0), (1100, 100))
    assert forecast_catch_up([FIRST, slow], 0).seconds is None


def test_people_are_told_lag_rates_and_time():
    assert show_forecast(FIRST, None) == "The wave lags by 1,100 records, by 1,000 in one partition at most."
    told = show_forecast(SECOND, forecast_catch_up([FIRST, SECOND], 300))
    assert told.endswith("; 50 records/s are copied, 10 records/s are written: at this rate it has caught up in 10 s.")
    slow = forecast_catch_up([FIRST, sample(20.0, (0, 0), (1100, 100))], 0)
    assert show_forecast(SECOND, slow).endswith("at this rate it will not catch up.")
