"""What errors of a backfill and an audit advise is read on the command line and in Airflow, so each option is named as both have it."""

import re

import pytest

from kafka_mirror.copy.history import add_history_advice
from kafka_mirror.errors import (
    ErrorReport,
    HistoryIntoCompacted,
    HistoryOutOfOrder,
    HistoryTopicRefused,
    NothingAudited,
    RecordUnreadable,
    WildTimestamp,
)

PARAMETERS = {"--into": "into", "--order": "order", "--accept-wild-timestamps": "accept_wild_timestamps", "--to": "to", "--from": "from"}
ERRORS = (
    HistoryOutOfOrder("orders", 0, 0, 10, "history.east.orders", 10, "history.{remote}-older"),
    HistoryIntoCompacted("orders", 0, "history.east.orders"),
    HistoryTopicRefused("orders", "elsewhere", "is not allowed"),
    WildTimestamp("orders", 0, 5, "2040-01-01T00:00:00Z", "[…, …)"),
    RecordUnreadable("east", "orders", 0, 5),
    NothingAudited(["orders"]),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_every_option_is_named_as_the_parameter_of_the_dag_too(error: object) -> None:
    said = error.report().next  # type: ignore[attr-defined]
    in_airflow = " ".join(re.findall(r"in Airflow[^)]*|in Airflow.*$", said))
    assert in_airflow
    options = set(re.findall(r"--[a-z-]+", said)) & set(PARAMETERS)
    if "backfill --flow" in said:  # a Backfill has its times from its dates
        options -= {"--from", "--to"}
    for option in options:
        assert re.search(rf"\b{PARAMETERS[option]}\b", in_airflow), option


def test_advice_on_a_lane_that_writes_history_names_both() -> None:
    report = add_history_advice(ErrorReport("UnexplainedTarget", "…"), "history.east.orders")
    assert "--into, in Airflow the parameter into" in report.next
