"""A plan survives XCom and the job's file."""

import json
from dataclasses import replace
from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.plan.model import Plan, Range, from_columns, to_columns
from kafka_mirror.errors import ErrorReport
from tests.unit.decision_records import decision

numbers = st.integers(0, 2**62)
decisions = st.lists(st.sampled_from(["accept-gap", "restart", "take-ownership", "pause"]).map(decision)).map(tuple)
epochs = skips = st.none() | numbers
ranges = st.builds(Range, st.text(), numbers, st.text(), numbers, numbers, st.text(), skips, epochs, numbers, numbers, decisions)
errors = st.builds(
    ErrorReport, st.text(), st.text(), st.none() | st.text(), st.none() | numbers, st.none() | numbers, st.booleans(), st.text()
)
plans = st.builds(
    Plan,
    st.text(),
    st.lists(ranges).map(tuple),
    st.lists(errors).map(tuple),
    st.lists(st.text()).map(tuple),
    st.text(),
    st.text(),
    st.text(),
    st.text(),
    decisions,
)


@given(plans)
def test_a_plan_survives_json(plan):
    assert from_columns(json.loads(json.dumps(to_columns(plan)))) == plan


@given(plans, st.dictionaries(st.text(), st.text(), min_size=1), st.booleans())
def test_a_plan_of_history_survives_json(plan, into, in_time_order):
    plan = replace(plan, into=into, in_time_order=in_time_order)
    assert from_columns(json.loads(json.dumps(to_columns(plan)))) == plan


@given(plans, st.datetimes(timezones=st.just(UTC)))
def test_the_time_of_a_plan_survives_json_to_the_millisecond(plan, time):
    time = time.replace(microsecond=time.microsecond // 1000 * 1000)
    assert from_columns(json.loads(json.dumps(to_columns(replace(plan, time=time))))).time == time
    assert from_columns(json.loads(json.dumps(to_columns(plan)))).time is None


def test_the_columns_are_those_that_readers_of_xcom_know():
    columns = to_columns(Plan("a->b", (Range("t", 0, "id", 1, 2, "behind", leader_epoch=3, records=7, bytes=70),)))["ranges"]
    assert columns == {
        "topic": ["t"],
        "partition": [0],
        "topic_id": ["id"],
        "start": [1],
        "end": [2],
        "reason": ["behind"],
        "leader_epoch": [3],
        "records": [7],
        "bytes": [70],
    }
