"""A lane that chooses its engines: which are opened, in which order, and what happens to records that one of them cannot carry."""

import subprocess
import sys
from dataclasses import replace

import pytest

from mirror.copy import lane_engines
from mirror.copy.engine import BatchesUnavailable, BatchSample, LaneEngines, PartitionProgress, Reencoding
from mirror.copy.engine_choice import FEW, SMALL
from mirror.copy.lane import LaneCopy
from mirror.copy.model import AUTO, BATCHES, RECORDS, EncodedAnew, EngineShare
from mirror.errors import ClusterTooOld, ClusterUnreachable, RecordNotCarried, WorkerUnprepared
from mirror.formats.skips import Skipped
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BEHIND, Range
from mirror.spark.package import INCLUDE
from tests.unit.copy.conftest import MemoryEngine
from tests.unit.copy.happenings import raising, watermarks

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
LARGE, ONE_RECORD = BatchSample(1, 100_000, 100), BatchSample(9, 900, 9)
MANY = 50_000


class Sampler:
    """Gives these samples; `looks` are the partitions that it was asked for."""

    def __init__(self, samples=None, failure=None):
        self.samples, self.failure = samples or {}, failure
        self.looks = []
        self.closed = False

    def sample(self, task, work):
        self.looks.append([each.source for each in work])
        if self.failure:
            raise self.failure
        return self.samples

    def close(self):
        self.closed = True


class Lane:
    """A lane with both engines in memory. `uncarried`: offsets of orders-0 that the one for records cannot carry; `batches`: where batches
    of orders-0 begin that the other one can hand on only whole; `closed`: where those begin that it cannot hand on."""

    def __init__(self, world, task):
        self.world, self.task = world, replace(task, engine=AUTO)
        self.sampler = Sampler()
        self.opened = []
        self.unavailable = None
        self.uncarried, self.batches, self.closed = set(), (), set()

    def run(self, **changes):
        engines = LaneEngines(self._opening(RECORDS, OneByOne), self._opening(BATCHES, InBatches), self.sampler)
        return LaneCopy(replace(self.task, **changes), engines).run()

    def _opening(self, name, kind):
        def opened(_task, _limit):
            if name == BATCHES and self.unavailable:
                raise self.unavailable
            self.opened.append(name)
            return kind(self)

        return opened


class OneByOne(MemoryEngine):
    def __init__(self, lane):
        super().__init__(lane.world)
        self.lane = lane

    def copy(self, work, limits):
        done = []
        for each in work:
            stop = min((at for at in self.lane.uncarried if each.source == ORDERS and each.start <= at < each.end), default=None)
            if stop is None:
                done += super().copy([each], limits)
                continue
            error = RecordNotCarried(*ORDERS, stop, "its timestamp is 0")
            moved = next(iter(super().copy([replace(each, end=stop)], limits)), PartitionProgress(ORDERS, each.start))
            if each.skip_refused and not each.hands_over:
                done.append(replace(moved, next_offset=stop + 1, skipped=(Skipped(stop, stop + 1, error.reason),)))
            else:
                done.append(replace(moved, poison=error))
        return done


class InBatches(MemoryEngine):
    def __init__(self, lane):
        super().__init__(lane.world)
        self.lane = lane

    def copy(self, work, limits):
        return [moved for each in work for moved in self._copy(each, limits)]

    def _copy(self, work, limits):
        begins = [*self.lane.batches, work.end] if work.source == ORDERS else [work.end]
        if work.source == ORDERS and self.lane.batches and work.start not in begins:
            until = min(end for end in begins if end > work.start)
            return [PartitionProgress(ORDERS, work.start, reencoding=Reencoding(until, "its range begins inside a batch"))]
        stop = min((begin for begin in self.lane.closed if work.source == ORDERS and begin >= work.start), default=None)
        if stop is None:
            return super().copy([work], limits)
        until = min(end for end in begins if end > stop) if work.batch_by_batch else None
        moved = next(iter(super().copy([replace(work, end=stop)], limits)), PartitionProgress(ORDERS, work.start))
        return [replace(moved, reencoding=Reencoding(until, "holes"))]


@pytest.fixture
def lane(world, lane_task):
    return Lane(world, lane_task)


@pytest.fixture
def busy(lane):
    """The lane with so many records that batches may be worth it."""
    lane.task = replace(lane.task, ranges=tuple(Range(topic, 0, f"id-{topic}", 0, MANY, BEHIND) for topic in ("orders", "payments")))
    return lane


def test_a_lane_with_little_work_in_few_batches_opens_the_engine_for_them_alone(lane):
    lane.sampler.samples = {ORDERS: BatchSample(1, 1000, 10), PAYMENTS: BatchSample(2, 1000, 10)}
    result = lane.run()
    assert (lane.opened, lane.sampler.looks) == ([BATCHES], [[ORDERS, PAYMENTS]])
    assert (result.engines, result.encoded_anew) == ((EngineShare(BATCHES, 2, 20, 2000),), ())


def test_a_lane_with_little_work_opens_one_engine_where_a_partition_needs_the_one_for_records(lane):
    lane.sampler.samples = {ORDERS: BatchSample(1, 1000, 10), PAYMENTS: BatchSample(1, 1000, 10, "holes")}
    result = lane.run()
    assert lane.opened == [RECORDS]
    assert result.engines == (EngineShare(RECORDS, 2, 20, 2000),)
    assert result.encoded_anew == (EncodedAnew(FEW, 1, "orders", 0), EncodedAnew("holes", 1, "payments", 0))


def test_a_lane_whose_batches_are_all_large_opens_one_engine(busy):
    busy.sampler.samples = {ORDERS: LARGE, PAYMENTS: LARGE}
    result = busy.run()
    assert (busy.opened, busy.sampler.looks) == ([BATCHES], [[ORDERS, PAYMENTS]])
    assert result.engines == (EngineShare(BATCHES, 2, 2 * MANY, 200 * MANY),)
    assert result.encoded_anew == ()


def test_a_mixed_lane_opens_one_engine_after_the_other_and_says_what_each_copied(busy, caplog):
    busy.sampler.samples = {ORDERS: LARGE, PAYMENTS: ONE_RECORD}
    with caplog.at_level("INFO", "mirror.copy.lane"):
        result = busy.run()
    assert busy.opened == [BATCHES, RECORDS]
    assert watermarks(result) == {("orders", MANY), ("payments", MANY)}
    assert result.engines == (EngineShare(BATCHES, 1, MANY, 100 * MANY), EngineShare(RECORDS, 1, MANY, 100 * MANY))
    assert result.encoded_anew == (EncodedAnew(SMALL, 1, "payments", 0),)
    ended = caplog.messages[-1]
    assert "in batches: 50,000 records" in ended
    assert f"encoded anew: 50,000 records, 5,000,000 bytes of 1 partition (1 partition such as payments-0: {SMALL})" in ended


def test_the_sampler_is_closed_whatever_comes_of_the_lane(busy):
    busy.world.happenings["commit"] = raising(KeyError("x"))
    with pytest.raises(KeyError):
        busy.run()
    assert busy.sampler.closed


def test_a_cluster_that_takes_no_batches_gets_records_and_the_log_says_why_once(busy, caplog):
    busy.sampler.samples = {ORDERS: LARGE, PAYMENTS: LARGE}
    busy.unavailable = ClusterTooOld("west", "b:9092", "2.8", "ProduceRequest", 8, 9)
    with caplog.at_level("INFO", "mirror.copy.lane"):
        result = busy.run()
    assert busy.opened == [RECORDS]
    assert watermarks(result) == {("orders", MANY), ("payments", MANY)}
    assert result.errors == ()
    assert caplog.text.count("older than Kafka 2.8") >= 2  # once by itself, once in the line at the end
    assert "older" in result.encoded_anew[0].reason


def test_a_source_that_gives_no_batches_gets_records(busy):
    busy.sampler.failure = BatchesUnavailable("its brokers are older than Kafka 2.7")
    result = busy.run()
    assert (busy.opened, len(busy.sampler.looks), result.errors) == ([RECORDS], 1, ())


def test_an_engine_for_batches_that_fails_again_and_again_is_given_up_for_the_run(busy):
    busy.sampler.samples = {ORDERS: LARGE, PAYMENTS: LARGE}
    busy.unavailable = ClusterUnreachable("west", "127.0.0.1:1", 1.0)
    result = busy.run()
    assert (busy.opened, result.errors) == ([RECORDS], ())
    assert "2 attempts in a row failed" in result.encoded_anew[0].reason


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("uncarried", [{0}, {4}, {4, 5, 9}])
def test_a_record_that_only_batches_carry_takes_its_partition_there_and_nothing_is_skipped(lane, world, skips, uncarried):
    lane.uncarried, lane.batches = uncarried, (0, 3, 6)
    result = lane.run(skip_refused=skips)
    assert watermarks(result) == {("orders", 10), ("payments", 10)}
    assert (result.errors, result.skipped) == ((), ())
    assert lane.opened[-1] == BATCHES
    assert world.ledger[ORDERS].records == 10
    assert {(share.engine, share.records) for share in result.engines} == {(BATCHES, 10), (RECORDS, 10)}


def test_what_neither_engine_carries_blocks_its_partition_there(lane, world):
    lane.uncarried, lane.batches, lane.closed = {4}, (0, 3, 6), {3}
    (error,) = lane.run().errors
    assert (error.code, error.offset) == ("RecordNotCarried", 4)
    assert (world.ledger[ORDERS].watermark, world.ledger[ORDERS].blocked.offset) == (4, 4)
    assert lane.opened == [RECORDS, RECORDS, BATCHES, RECORDS]


def test_with_tolerance_only_what_neither_engine_carries_is_skipped(lane, world):
    lane.uncarried, lane.batches, lane.closed = {4, 7}, (0, 3, 6), {3}
    result = lane.run(skip_refused=True)
    assert result.errors == ()
    assert [(skipped.offset, skipped.records) for skipped in result.skipped] == [(4, 1)]
    assert (world.ledger[ORDERS].watermark, world.ledger[ORDERS].records) == (10, 9)


def test_a_partition_that_stands_inside_the_batch_of_the_record_blocks(lane, known):
    known("orders", 4)
    lane.uncarried, lane.batches = {5}, (0, 3, 6)
    (error,) = lane.run().errors
    assert (error.code, error.offset) == ("RecordNotCarried", 5)


def test_without_the_package_auto_takes_records_and_batches_say_what_is_missing(lane, monkeypatch):
    monkeypatch.setitem(lane_engines.sys.modules, "mirror.copy.batches.engine", None)
    engines = lane_engines.engines_of(lane.task)
    assert (engines.batches, engines.sampler) == (None, None)
    assert "has no module 'mirror.copy.batches.engine'" in engines.lacking
    with pytest.raises(WorkerUnprepared, match=r"mirror\.copy\.batches\.engine"):
        lane_engines.engines_of(replace(lane.task, engine=BATCHES))


SIDE_BY_SIDE = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from mirror.copy.lane_engines import engines_of

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "google_crc32c":
            time.sleep(0.05)
            raise ModuleNotFoundError("No module named 'google_crc32c'", name="google_crc32c")

sys.meta_path.insert(0, Absent())
with ThreadPoolExecutor(4) as threads:
    lanes = [threads.submit(engines_of, SimpleNamespace(engine="batches")) for _ in range(4)]
print(*(type(lane.exception()).__name__ for lane in lanes))
"""


def test_lanes_side_by_side_say_all_what_is_missing():
    """While one thread's import fails, the others wait for it, and get half a module. In a process that has not imported it yet."""
    done = subprocess.run([sys.executable, "-c", SIDE_BY_SIDE], env={"PYTHONPATH": str(INCLUDE)}, capture_output=True, text=True)
    assert done.stdout.split() == ["WorkerUnprepared"] * 4, done.stderr


def test_a_lane_that_lacks_the_engine_for_batches_says_so_once(lane, world, caplog):
    with caplog.at_level("INFO", "mirror.copy.lane"):
        LaneCopy(lane.task, LaneEngines(lambda *_: MemoryEngine(world), lacking="no module 'google_crc32c'")).run()
    assert sum("encodes all records anew" in line for line in caplog.messages) == 1
