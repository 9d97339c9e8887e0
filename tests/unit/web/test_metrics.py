"""The metrics: what stands in them, and that Prometheus's own parsers read them in both formats."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.record import LastRecord, Writer
from kafka_mirror.status.snapshot import FlowSnapshot, LaneSnapshot, PartitionSnapshot
from kafka_mirror.status.status import PartitionStatus
from kafka_mirror.web.metric_names import METRICS
from tests.unit.web.scrape import BUSY, OPENMETRICS, MadeUpCache, MadeUpFlow, flow, now, partition, samples, scrape, topic_of

# ---------------------------------------------------------------- what stands in them


def test_a_flow_has_its_figures():
    value = samples(flow(**BUSY))
    figures = {
        "mirror_up": 1,
        "mirror_lag_records": 40,
        "mirror_lag_seconds": 12.5,
        "mirror_lag_bytes": 4000,
        "mirror_served_lag_records": 40,
        "mirror_served_lag_seconds": 12.5,
        "mirror_catch_up_seconds": math.inf,
        "mirror_copied_records_per_second": 10,
        "mirror_copied_bytes_per_second": 1000,
        "mirror_source_records_per_second": 12.5,
        "mirror_copied_records_total": 120,
        "mirror_copied_bytes_total": 12_000,
        "mirror_skipped_records": 5,
        "mirror_throttle_bytes_per_second": 5000,
        "mirror_partitions_waiting": 1,
        "mirror_groups": 2,
        "mirror_groups_inexact": 1,
        "mirror_snapshot_duration_seconds": 0.5,
    }
    assert {name: value(name) for name in figures} == figures
    assert value("mirror_partitions", state="gap") == value("mirror_partitions", state="behind") == 1
    assert (value("mirror_problems", code="SourceGap"), value("mirror_problems", code="Unexpected")) == (2, 1)
    assert 30 <= value("mirror_heartbeat_age_seconds", path="north->east->west") < 90
    assert value("mirror_snapshot_age_seconds") < 60


LIMITS = ("lag_seconds", "lag_records", "progress_seconds", "copy_seconds", "heartbeats_seconds", "unreachable_seconds")


def test_limits_of_alerts_are_those_of_the_flow_and_what_has_none_is_infinite():
    """A mirror that copies each hour is not late after a quarter of an hour."""
    hourly = {"mirror.copy.interval.seconds": 3600, "mirror.deadline.unreachable.seconds": -1, "mirror.deadline.lag.seconds": 60}
    value = samples(flow(**BUSY), flows=(MadeUpFlow(values=hourly),))
    assert [value(f"mirror_deadline_{name}") for name in LIMITS] == [60, math.inf, 10_800, 10_800, 10_800, math.inf]


def test_limits_are_there_while_the_clusters_cannot_be_compared_and_absent_for_an_invalid_flow():
    assert samples(FlowSnapshot("east->west"))("mirror_deadline_unreachable_seconds") == 300
    assert samples(FlowSnapshot("east->west"), flows=())("mirror_deadline_unreachable_seconds") is None


def test_a_partition_that_is_stuck_counts_as_lag_and_not_as_lag_of_those_that_are_served():
    stuck = partition(1, state="gap", lag=7)
    stuck = replace(stuck, status=replace(stuck.status, oldest_seconds=5000.0))
    topic = replace(topic_of("orders", partition(0), stuck), oldest_seconds=5000.0)
    value = samples(flow(topics=(topic,)))
    assert (value("mirror_lag_records"), value("mirror_lag_seconds")) == (47, 5000)
    assert (value("mirror_served_lag_records"), value("mirror_served_lag_seconds")) == (40, 12.5)
    alone = samples(flow(topics=(topic_of("orders", stuck),)))
    assert (alone("mirror_served_lag_records"), alone("mirror_served_lag_seconds")) == (0, 0)


def test_topics_partitions_and_groups_have_theirs_and_awkward_names_arrive_whole():
    value = samples(flow(**BUSY))
    assert (value("mirror_topic_lag_records", topic="orders"), value("mirror_topic_lag_bytes", topic="orders")) == (40, 4000)
    assert value("mirror_partition_lag_records", topic="orders", partition="0") == 40
    assert value("mirror_partition_lag_seconds", topic="orders", partition="1") == 0, "nothing is missing"
    assert (value("mirror_group_exact", group="billing"), value("mirror_group_reread_records", group="billing")) == (1, 0)
    assert value("mirror_group_ahead_offsets", group="billing") == 46
    assert (value("mirror_group_exact", group='re"po\\rts\n'), value("mirror_group_reread_records", group='re"po\\rts\n')) == (0, 7)
    assert value("mirror_group_partitions_unanswered", group='re"po\\rts\n') == 1
    assert value("mirror_group_partitions_counted", group="billing") == 2
    assert value("mirror_group_partitions_over_budget", group='re"po\\rts\n') == 1


def test_what_means_the_same_has_the_names_and_labels_of_strimzi():
    value = samples(flow(**BUSY))
    ours = {"topic": "east.orders", "partition": "0"}
    names = {
        "record_count": 60,
        "byte_count": 6000,
        "record_rate": 2,
        "byte_rate": 200,
        "record_age_ms": 60_000,
        "replication_latency_ms": 60_250,
    }
    assert {name: value(f"kafka_connect_mirror_mirrorsourceconnector_{name}", **ours) for name in names} == names


NEW = {"connector": "MirrorSourceConnector", "task": "0", "topic": "east.orders", "partition": "0"}


@pytest.mark.parametrize(
    ("formats", "legacy", "new"),
    [(("legacy",), 60, None), (("new",), None, 60), (("legacy", "new"), 60, 60)],
    ids=["legacy", "new", "both"],
)
def test_metric_names_formats_says_under_which_names_they_stand(formats, legacy, new):
    value = samples(flow(**BUSY), flows=(MadeUpFlow(values={"metric.names.formats": formats}),))
    assert value("kafka_connect_mirror_mirrorsourceconnector_record_count", topic="east.orders", partition="0") == legacy
    assert value("kafka_connect_plugins_record_count", **NEW) == new


def test_the_new_names_have_the_same_values():
    value = samples(flow(**BUSY), flows=(MadeUpFlow(values={"metric.names.formats": ("legacy", "new")}),))
    for name in ("record_count", "byte_count", "record_rate", "byte_rate", "record_age_ms", "replication_latency_ms"):
        old = value(f"kafka_connect_mirror_mirrorsourceconnector_{name}", topic="east.orders", partition="0")
        assert old == value(f"kafka_connect_plugins_{name}", **NEW) is not None


def test_what_is_not_known_is_absent_and_never_zero():
    empty = topic_of("orders", partition(0, lag=0))
    empty = replace(empty, lag=None, partitions=(PartitionSnapshot(PartitionStatus("orders", 0, "unknown"), "east.orders", 0),))
    value = samples(flow(topics=(empty,)))
    assert value("mirror_up") == 1
    for name in (
        "mirror_lag_records",
        "mirror_lag_seconds",
        "mirror_catch_up_seconds",
        "mirror_throttle_bytes_per_second",
        "mirror_groups",
    ):
        assert value(name) is None, name
    assert value("kafka_connect_mirror_mirrorsourceconnector_record_count", topic="east.orders", partition="0") is None


def test_the_time_of_the_last_copy_is_that_of_the_newest_writer():
    at = now() - timedelta(hours=1)
    value = samples(flow(topics=(topic_of("orders", partition(0, written=Writer("", "host", "run", at))),)))
    assert value("mirror_last_copy_timestamp_seconds") == pytest.approx(at.timestamp())


def test_a_flow_at_which_nobody_could_look_shows_its_problems_and_no_figures():
    good = flow(taken=now() - timedelta(seconds=100), **BUSY)
    down = flow(comparable=False, errors=(ErrorReport("ClusterUnreachable", "down"),), last_good=good)
    value = samples(down)
    assert (value("mirror_up"), value("mirror_problems", code="ClusterUnreachable"), value("mirror_lag_records")) == (0, 1, None)
    assert 100 <= value("mirror_snapshot_age_seconds") < 160


def test_a_flow_with_an_invalid_configuration_and_a_file_that_cannot_be_read_are_seen():
    error = ErrorReport("ConfigurationError", "topics is wrong")
    value = samples(FlowSnapshot("east->west", error=error), errors=(error,))
    assert (value("mirror_up"), value("mirror_problems", code="ConfigurationError"), value("mirror_snapshot_age_seconds")) == (0, 1, None)
    assert "mirror_configuration_errors 1.0\n" in scrape(MadeUpCache(errors=(error,))).text


def test_figures_of_long_ago_are_not_shown_as_those_of_now():
    value = samples(flow(taken=now() - timedelta(seconds=400), **BUSY))
    assert (value("mirror_up"), value("mirror_lag_records")) == (0, None)
    assert value("mirror_snapshot_age_seconds") >= 400


@pytest.mark.parametrize(("age", "seconds", "shown"), [(290, 1, 2), (310, 1, None), (310, 20, 2), (410, 20, None)])
def test_groups_at_which_nobody_could_look_for_long_are_not_shown_as_those_of_now(age, seconds, shown):
    """A look that took 20 s is followed by a pause of 200."""
    refused = ErrorReport("AuthorizationRefused", "no groups")
    groups = replace(BUSY["groups"], taken=now() - timedelta(seconds=age), seconds=seconds, errors=(refused,))
    value = samples(flow(**{**BUSY, "groups": groups}))
    assert (value("mirror_up"), value("mirror_problems", code="AuthorizationRefused")) == (1, 1)
    assert value("mirror_groups") == shown
    assert value("mirror_groups_inexact") == (shown and 1)
    assert value("mirror_series_left_out", kind="group") == (None if shown is None else 0)
    for name in ("exact", "reread_records", "ahead_offsets", "partitions_unanswered"):
        assert (value(f"mirror_group_{name}", group="billing") is None) == (shown is None)


def test_counters_bear_the_time_of_their_snapshot_so_that_an_older_one_of_another_worker_is_no_new_beginning():
    taken = now() - timedelta(seconds=20)
    for accept, read in (("text/plain", parser), (OPENMETRICS, openmetrics_parser)):
        text = scrape(MadeUpCache(flow(taken=taken, **BUSY)), accept=accept).text
        stamps = {each.name: each.timestamp for family in read.text_string_to_metric_families(text) for each in family.samples}
        for counter in ("mirror_copied_records_total", "mirror_copied_bytes_total"):
            assert float(stamps.pop(counter)) == pytest.approx(taken.timestamp(), abs=0.01)
        assert set(stamps.values()) == {None}


def test_counters_are_absent_while_a_lane_cannot_be_read_for_they_would_fall():
    error = ErrorReport("LedgerDamaged", "lane 1 cannot be read")
    value = samples(flow(**BUSY, lanes=(LaneSnapshot(0, 1, 0, 0, None), LaneSnapshot(1, 1, 0, 0, None, error))))
    assert (value("mirror_up"), value("mirror_copied_records_total"), value("mirror_copied_bytes_total")) == (1, None, None)


def test_with_too_many_partitions_theirs_are_left_out_and_that_is_said():
    large = flow(topics=tuple(topic_of(f"t{n}", *(partition(number, f"t{n}") for number in range(20))) for n in range(250)))
    cache = MadeUpCache(large, flows=(MadeUpFlow(series=1000),))
    text = scrape(cache).text
    assert 'mirror_series_left_out{kind="partition",source="east",target="west"} 5000.0' in text
    assert 'mirror_series_left_out{kind="topic",source="east",target="west"} 0.0' in text
    assert "mirror_partition_lag_records" not in text
    assert len(text.splitlines()) < 1000
    none = scrape(MadeUpCache(large, flows=(MadeUpFlow(series=0),))).text
    assert len(none.splitlines()) < 100


# ---------------------------------------------------------------- the formats


def test_both_formats_are_read_by_prometheus_own_parsers_and_say_the_same():
    cache = MadeUpCache(flow(**BUSY), flow("north->west", **BUSY), FlowSnapshot("east->south"))
    plain, modern = scrape(cache), scrape(cache, accept=OPENMETRICS)
    assert plain.headers["content-type"].startswith("text/plain; version=")
    assert modern.headers["content-type"].startswith("application/openmetrics-text")
    assert plain.headers["cache-control"] == "no-store"
    old = list(parser.text_string_to_metric_families(plain.text))
    new = list(openmetrics_parser.text_string_to_metric_families(modern.text))
    changing = ("age", "timestamp")

    def values(families):
        return {
            (each.name, frozenset(each.labels.items())): each.value
            for family in families
            for each in family.samples
            if not any(word in each.name for word in changing)
        }

    assert values(old) == values(new)


def test_every_metric_is_in_the_list_with_its_type_and_its_labels():
    text = scrape(
        MadeUpCache(
            flow(**BUSY, topics=(topic_of("o", replace(partition(0, "o", written=Writer("", "h", "", now())), last=LastRecord(1, 2, 3))),)),
            flows=(MadeUpFlow(values={"metric.names.formats": ("legacy", "new")}),),
        )
    ).text
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert set(families) == {metric.name for metric in METRICS}
    for metric in METRICS:
        family = families[metric.name]
        labels = set() if metric.name == "mirror_configuration_errors" else {"source", "target", *metric.labels}
        assert (family.type, family.documentation) == (metric.type, metric.help)
        assert {each.name for each in family.samples} == {metric.sample}
        assert all(set(each.labels) == labels for each in family.samples), metric.name


def test_no_other_registry_of_the_process_shows_or_is_shown():
    from prometheus_client import REGISTRY

    scrape(MadeUpCache(flow(**BUSY)))
    assert not any(family.name.startswith("mirror_") for family in REGISTRY.collect())
    assert "python_info" not in scrape(MadeUpCache(flow())).text


def test_figures_that_freshness_saw_are_scraped_and_say_so():
    unreachable = ErrorReport("ClusterUnreachable", "west does not answer")
    found = samples(flow(taken=now() - timedelta(minutes=10), not_reached=unreachable))
    assert (found("mirror_up"), found("mirror_seen_by_freshness"), found("mirror_lag_records")) == (1, 1, 40)
    assert found("mirror_snapshot_age_seconds") >= 600
    own = samples(flow())
    assert (own("mirror_up"), own("mirror_seen_by_freshness")) == (1, 0)
