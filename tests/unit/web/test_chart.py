"""Charts: they stay in their boxes, say what was seen, and show where nobody looked."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.status.lag_history import LagHistory, LagPoint, OwnPoints
from kafka_mirror.web.chart import HEIGHT, LEVELS, SPANS, WIDTH, lag_chart, lag_curve, strip, topic_curves
from tests.unit.web.made_up import BUSY, FLOW, HEALTHY, large, made_up, with_gap

NOW = 1_795_000_000.0
POINTS = st.builds(
    LagPoint,
    st.floats(min_value=NOW - 90_000, max_value=NOW),
    st.none() | st.floats(min_value=0, max_value=1e9),
    st.none() | st.integers(min_value=0, max_value=10**15),
)


def every(seconds: float, count: int, lag: float | None = 5.0, records: int = 600) -> list[LagPoint]:
    """Points up to now, and so many records copied between two of them."""
    return [LagPoint(NOW - seconds * (count - 1 - number), lag, records * number) for number in range(count)]


@given(st.lists(POINTS, max_size=300), st.sampled_from([*SPANS, "", "nonsense"]), st.none() | st.floats(min_value=1, max_value=1e6))
def test_a_chart_stays_in_its_box_whatever_the_values_are(points: list[LagPoint], span: str, limit: float | None) -> None:
    chart = lag_chart(sorted(points, key=lambda point: point.time), span, limit, NOW)
    for curve in (chart.lag, chart.rate):
        places = re.findall(r"[ML](\S+) (\S+)", curve.line)
        assert all(-1 <= float(x) <= WIDTH + 1 and 0 <= float(y) <= HEIGHT for x, y in places)
    assert all(left >= 0 and left + width <= WIDTH + 0.2 for left, width in chart.gaps)
    assert chart.limit_line is None or 0 <= chart.limit_line <= HEIGHT
    assert len(chart.columns) <= 121


def test_a_chart_says_lag_and_throughput_at_each_point() -> None:
    chart = lag_chart(every(60, 60), "1h", 300, NOW)
    assert chart.columns[-1].words.endswith(": lag 5 s, 10 records/s copied")
    assert (chart.lag.highest, chart.rate.newest, chart.gaps, chart.lag.line.count("M")) == (5.0, 10.0, (), 1)
    assert chart.limit_line == pytest.approx(HEIGHT / 11, abs=0.1), "the limit is always in sight"


def test_the_longest_lag_of_a_day_is_in_its_chart() -> None:
    points = [point._replace(seconds=1000.0) if place == 777 else point for place, point in enumerate(every(60, 1440))]
    assert lag_chart(points, "24h", None, NOW).lag.highest == 1000.0


def test_time_in_which_nobody_looked_is_a_gap_and_interrupts_both_curves() -> None:
    points = [point for point in every(60, 61) if not NOW - 1800 < point.time < NOW - 900]
    chart = lag_chart(points, "1h", None, NOW)
    assert chart.gaps == ((WIDTH / 2, WIDTH / 4),)
    assert (chart.lag.line.count("M"), chart.rate.line.count("M")) == (2, 2)


def test_a_cluster_that_did_not_answer_is_a_gap_too() -> None:
    points = [point._replace(seconds=None, records=None) if NOW - 1800 < point.time < NOW - 900 else point for point in every(60, 61)]
    assert len(lag_chart(points, "1h", None, NOW).gaps) == 1


def test_the_time_before_a_flow_was_first_seen_is_no_gap() -> None:
    new = every(60, 5)
    assert lag_chart(new, "1h", None, NOW).gaps == ()
    assert lag_chart([LagPoint(NOW - 7200, 1.0, 0), *new], "1h", None, NOW).gaps == ((0.0, WIDTH - 4 * WIDTH / 60),)


def test_points_that_come_every_quarter_of_an_hour_have_no_gap_between_them() -> None:
    assert lag_chart(every(900, 25), "6h", None, NOW).gaps == ()


def test_copying_again_from_an_earlier_offset_is_no_throughput() -> None:
    points = [LagPoint(NOW - 120, 1.0, 900), LagPoint(NOW - 60, 1.0, 100), LagPoint(NOW, 1.0, 700)]
    assert lag_chart(points, "1h", None, NOW).rate.newest == 10.0
    assert "–" in lag_chart(points, "1h", None, NOW).columns[1].words


def test_no_point_and_one_point() -> None:
    assert lag_chart([], "1h", 300, NOW).is_empty
    chart = lag_chart(every(60, 1), "1h", None, NOW)
    assert not chart.is_empty
    assert "L" in chart.lag.line, "it is seen"
    assert lag_curve(every(60, 1), NOW) is None


def test_topics_have_curves_of_the_day_that_stop_where_nobody_looked() -> None:
    times = (NOW // 900 * 900 - 3600, NOW // 900 * 900 - 2700, NOW // 900 * 900)
    curves = topic_curves(LagHistory((), tuple(map(int, times)), {"orders": (1.0, 2.0, 0.0)}), ["orders", "new"], NOW)
    assert list(curves) == ["orders"]
    assert (curves["orders"].highest, curves["orders"].line.count("M")) == (2.0, 2)


def test_a_strip_has_every_partition_once_and_counts_them() -> None:
    assert strip(BUSY) is None, "few partitions have their rows"
    shown = strip(large())
    assert (shown.partitions, sum(shown.counts.values()), set(shown.paths) <= set(LEVELS)) == (5000, 5000, True)
    widths = [int(width) for path in shown.paths.values() for width in re.findall(r"0h(\d+)v", path)]
    assert sum(widths) == 5000
    assert strip(with_gap(large())).counts["stuck"] == 0


def test_own_points_go_on_behind_those_that_freshness_kept() -> None:
    own, taken = OwnPoints(), BUSY.taken.timestamp()
    history = LagHistory((LagPoint(taken - 60, 1.0, 10), LagPoint(taken - 30, 2.0, 20)))
    own.add(replace(BUSY, taken=BUSY.taken.fromtimestamp(taken - 45, BUSY.taken.tzinfo)))
    own.add(BUSY)
    own.add(BUSY)
    own.add(replace(BUSY, taken=BUSY.taken.fromtimestamp(taken + 9, BUSY.taken.tzinfo), not_reached=with_gap().status.errors[0]))
    assert [point.time for point in own.continue_history(FLOW, history)] == [taken - 60, taken - 30, taken]
    assert own.continue_history("other->flow", LagHistory()) == []


def test_the_page_draws_what_freshness_kept_and_keeps_the_span_while_a_table_is_sorted() -> None:
    taken = BUSY.taken.timestamp()
    kept = LagHistory(tuple(LagPoint(taken - 60 * number, 3.0, 10_000 - number) for number in range(100, 0, -1)))
    view = replace(HEALTHY, freshness={"time": BUSY.taken.isoformat(), "open": [], "history": kept.pack()})
    page = made_up(replace(BUSY, lag_limit=300.0), view=view).page("/flows/east-to-west?span=6h")
    assert 'name="span" value="6h" aria-pressed="true"' in page
    assert page.count('<input type="hidden" name="span" value="6h">') >= 8, "every form of both tables has it"
    assert 'class="limit"' in page
    assert "dashed: the limit, 5 min" in page
    assert "No point in this time" in made_up(replace(BUSY, taken=None)).page()
