"""A flow that copies in its rhythm is fine whenever somebody looks, and one that stops is said not to catch up only when that lasts."""

from dataclasses import dataclass
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.snapshot_builder import catch_up_of
from kafka_mirror.status.status import BEHIND, NO_LEADER, NO_REMOTE, OPEN_TRANSACTION, PAUSED, UP_TO_DATE
from kafka_mirror.status.throughput import CatchUp, Sample, Samples, Totals, rhythm, throughput
from kafka_mirror.web.state import FINE, FlowState, state_of
from kafka_mirror.web.tables import level
from tests.unit.web.made_up import HEALTHY, NOW, partition, snapshot, topic_of

TP = TopicPartition("orders", 0)
LOOK_SECONDS = 10


@dataclass(frozen=True)
class Site:
    """A source that grows by `rate` offsets a second, of which `share` are records, and runs each `interval` seconds that take `duration`
    and copy what was there when they began; after `stops` there are no more runs."""

    rate: float
    interval: float
    duration: float
    share: float = 1.0
    stops: float = 1e9

    def watermark(self, time: float) -> int:
        began = self.interval * max((min(time, self.stops) - self.duration) // self.interval, 0.0)
        return int(self.rate * began)

    def look(self, time: float, samples: Samples, allowed: float) -> FlowSnapshot:
        end, watermark = int(self.rate * time), self.watermark(time)
        samples.add(Sample(time, {TP: Totals(int(watermark * self.share), 0, watermark, end)}))
        age = time - watermark / self.rate if watermark < end else None
        state = BEHIND if watermark < end else UP_TO_DATE
        seen = snapshot(topic_of("orders", [partition("orders", 0, end - watermark, state=state, oldest_seconds=age)]))
        assert seen.status is not None
        estimate = catch_up_of(seen.status, samples.samples, self.interval, allowed)
        return FlowSnapshot(
            seen.flow, NOW, seen.status, comparable=True, topics=seen.topics, catch_up=estimate, rhythm=allowed,
            throughput=throughput(samples.samples),
        )  # fmt: skip

    def looks(self, begin: float, end: float, allowed: float) -> list[tuple[float, FlowSnapshot, FlowState]]:
        samples, found, time = Samples(max(300.0, 3 * self.interval)), [], begin
        while time < end:
            seen = self.look(time, samples, allowed)
            found.append((time, seen, state_of(seen, HEALTHY, NOW + timedelta(seconds=1))))
            time += LOOK_SECONDS
        return found


SITES = st.builds(
    lambda rate, interval, part, share: Site(rate, interval, interval * part, share),
    st.floats(0.2, 10_000),
    st.floats(15, 300),
    st.floats(0.05, 0.9),
    st.floats(0.3, 1.0),
)
LIMITS = st.one_of(st.none(), st.integers(900, 5000))


@settings(max_examples=25)
@given(SITES, LIMITS, st.floats(0, 300))
def test_a_flow_that_copies_in_its_rhythm_is_fine_whenever_somebody_looks(site: Site, limit: int | None, begin: float) -> None:
    for _, seen, state in site.looks(5 * site.interval + begin, 5 * site.interval + begin + 700, rhythm(site.interval, limit)):
        assert (state.level, state.verdict, state.next.text) == (FINE, "Fine", "")
        rates = seen.throughput
        if rates.seconds > 10 * site.interval and rates.records and rates.source_records and site.rate > 50:
            assert 0.7 < rates.records / rates.source_records < 1.4, "both count records"


@settings(max_examples=25)
@given(SITES, LIMITS)
def test_a_flow_that_stops_is_behind_when_its_rhythm_is_over_and_not_catching_up_when_that_lasts(site: Site, limit: int | None) -> None:
    stops = 400 + 10 * site.interval
    stopped = Site(site.rate, site.interval, site.duration, site.share, stops)
    allowed = rhythm(site.interval, limit)
    looks = stopped.looks(stops - 300, stops + allowed + 2000, allowed)
    for time, seen, state in looks:
        assert seen.status is not None
        age = seen.status.oldest_seconds or 0.0
        if age <= allowed:
            assert state.level == FINE
        if state.verdict == "Behind, and not catching up":
            assert age > allowed
            assert time - (stops - 300) >= min(allowed, 300)
    assert looks[-1][2].verdict == "Behind, and not catching up"


def test_a_topic_is_marked_as_the_flow_is() -> None:
    assert [level({BEHIND: 2, UP_TO_DATE: 1}, young) for young in (True, False)] == ["fine", "behind"]
    assert [level({BEHIND: 2, state: 1}, young=True) for state in (OPEN_TRANSACTION, NO_LEADER, "gap")] == ["fine", "stuck", "stuck"]


def test_the_rhythm_is_two_intervals_or_half_of_what_may_wait_and_never_more_than_may() -> None:
    assert [rhythm(60, limit) for limit in (900, None, 60, 3600)] == [450, 120, 60, 1800]
    assert rhythm(3600, 10_800) == 7200


def test_what_waits_for_a_producer_or_a_remote_partition_is_fine_while_it_is_young_and_what_a_person_wants_stays_named() -> None:
    def state(*rows: tuple[str, float | None], keeps_up: bool = True) -> FlowState:
        partitions = [
            partition("orders", number, 5 if age else 0, state=name, oldest_seconds=age) for number, (name, age) in enumerate(rows)
        ]
        seen = snapshot(topic_of("orders", partitions), catch_up=CatchUp(0.0, "") if keeps_up else CatchUp(90.0, ""), rhythm=450)
        return state_of(seen, HEALTHY, NOW)

    assert state((UP_TO_DATE, None), (OPEN_TRANSACTION, 20.0)).verdict == "Fine"
    assert state((BEHIND, 20.0), (NO_REMOTE, 300.0)).verdict == "Fine"
    old = state((BEHIND, 20.0), (OPEN_TRANSACTION, 460.0))
    assert (old.level, old.verdict) == ("fine", "Fine, but for 1 partition")
    assert "5 records are behind there. The other 1 keep up with the source." in old.because
    paused = state((BEHIND, 20.0), (PAUSED, 9999.0), (OPEN_TRANSACTION, 20.0))
    assert (paused.level, paused.verdict) == ("fine", "Fine, but for 1 partition")
    assert state((BEHIND, 460.0), (OPEN_TRANSACTION, 460.0), keeps_up=False).verdict == "Behind, and catching up"
