import json

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.job import results_from_columns, results_to_columns, watermarks_from_columns, watermarks_to_columns
from kafka_mirror.copy.model import BatchShare, CopiedElsewhere, LaneResult, RewriteReason, SkippedRecords, Watermark
from kafka_mirror.errors import ErrorReport

OFFSET = st.integers(0, 2**63 - 1)
WATERMARK = st.builds(Watermark, st.text(), st.integers(0, 2**31 - 1), OFFSET, OFFSET, OFFSET, OFFSET)
ERROR = st.builds(
    ErrorReport, st.text(), st.text(), st.none() | st.text(), st.none() | OFFSET, st.none() | OFFSET, st.booleans(), st.text()
)
RESULT = st.builds(
    LaneResult,
    st.integers(0, 255),
    st.lists(WATERMARK, max_size=4).map(tuple),
    st.lists(ERROR, max_size=3).map(tuple),
    st.integers(0, 1000),
    st.integers(0, 300).map(float),
    st.lists(st.builds(SkippedRecords, st.text(), st.integers(0, 100), OFFSET, OFFSET, st.text()), max_size=3).map(tuple),
    OFFSET,
    st.lists(st.builds(CopiedElsewhere, st.text(), st.integers(0, 100), OFFSET, OFFSET, st.text()), max_size=2).map(tuple),
    st.lists(st.builds(BatchShare, st.sampled_from(["forwarded", "joined", "rewritten"]), st.integers(0, 100), OFFSET), max_size=2).map(
        tuple
    ),
    st.lists(st.builds(RewriteReason, st.text(), st.integers(0, 100), st.text(), st.integers(0, 100)), max_size=2).map(tuple),
)


@given(st.lists(RESULT, max_size=5, unique_by=lambda result: result.lane))
def test_results_survive_json(results: list[LaneResult]) -> None:
    assert results_from_columns(json.loads(json.dumps(results_to_columns(results)))) == results


def test_watermarks_are_columns_of_one_length() -> None:
    marks = (Watermark("orders", 0, 10, 12, 10, 700), Watermark("orders", 1, 3, 5, 3, 210))
    columns = watermarks_to_columns(marks)
    assert columns == {
        "topic": ["orders", "orders"],
        "partition": [0, 1],
        "source_offset": [10, 3],
        "target_offset": [12, 5],
        "records": [10, 3],
        "bytes": [700, 210],
    }
    assert watermarks_from_columns(columns) == marks


def test_results_leave_out_what_no_lane_has() -> None:
    assert results_to_columns([LaneResult(3)]).keys() == {"watermarks", "errors", "skipped", "lanes"}
