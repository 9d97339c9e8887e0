"""Which engine the next copy would take for each range of a plan, told without copying.

Where mirror.engine=auto leaves that to the lanes, this looks at the first batches as they do. A lane may still decide otherwise: a batch
that cannot be handed on as it is may lie behind those that were looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from mirror.config import Flow
from mirror.copy.engine import BatchesUnavailable, BatchSample
from mirror.copy.engine_choice import reasons_for_records
from mirror.copy.lane_engines import engines_of
from mirror.copy.model import AUTO, BATCHES, LaneTask
from mirror.copy.remote_partitions import TargetView
from mirror.copy.run import LANES_AT_ONCE, lane_tasks
from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan, Range

Reasons = Mapping[TopicPartition, str]
"""Why the records of ranges would be encoded anew; the other ranges would be copied in batches."""


def forecast(flow: Flow, plan: Plan) -> Reasons:
    """Looks at the first batches of the plan's ranges, lane by lane. Raises PlanMismatch, and ClusterUnreachable for the target."""
    engine = flow.value("mirror.engine")
    if engine != AUTO:
        return {} if engine == BATCHES else _all_for("mirror.engine=records", plan.ranges)
    with ThreadPoolExecutor(LANES_AT_ONCE, thread_name_prefix="lane") as threads:
        lanes = list(threads.map(_of_lane, lane_tasks(flow, plan)))
    return {tp: reason for reasons in lanes for tp, reason in reasons.items()}


def _of_lane(task: LaneTask) -> Reasons:
    engines = engines_of(task)
    sampler = engines.sampler
    if sampler is None:
        return _all_for(engines.lacking, task.ranges)
    try:
        with Cluster(task.target, task.clients.target_admin, task.request_seconds) as target:
            view = TargetView(task, target)
            work = [planned for planned in task.ranges if planned.offsets]

            def sampled(ranges: Sequence[Range]) -> Mapping[TopicPartition, BatchSample]:
                return sampler.sample(task, [view.assignment(planned) for planned in ranges])

            return reasons_for_records(work, sampled)
    except BatchesUnavailable as why:
        return _all_for(str(why), task.ranges)
    finally:
        sampler.close()


def _all_for(reason: str, ranges: Iterable[Range]) -> Reasons:
    return {planned.topic_partition: reason for planned in ranges if planned.offsets}
