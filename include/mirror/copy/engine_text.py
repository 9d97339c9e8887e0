"""What each engine copied, in words: of one lane, and of a whole run; and what each would copy of a plan."""

from collections.abc import Iterable, Mapping, Sequence

from mirror.copy.engine_choice import FEW
from mirror.copy.model import BATCHES, RECORDS, EncodedAnew, EngineShare, added_reasons
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Range


def engines_text(shares: Sequence[EngineShare], anew: Sequence[EncodedAnew]) -> list[str]:
    """What each engine copied, and why not all of it went in batches; nothing where there was little to copy, which is no news."""
    if all(share.engine == RECORDS for share in shares) and {why.reason for why in anew} == {FEW}:
        return []
    reasons = _reasons_text(anew)
    texts = []
    for share in shares:
        name = "in batches" if share.engine == BATCHES else "encoded anew"
        copied = f"{count_text(share.records, 'record')}, {share.bytes:,} bytes of {count_text(share.partitions, 'partition')}"
        texts.append(f"{name}: {copied}{f' ({reasons})' if share.engine == RECORDS and reasons else ''}")
    return texts


def forecast_text(ranges: Sequence[Range], reasons: Mapping[TopicPartition, str]) -> str:
    """Which engine would copy the ranges of a plan that have records; '' if none has."""
    with_work = [planned.topic_partition for planned in ranges if planned.offsets]
    anew = [EncodedAnew(reasons[tp], 1, *tp) for tp in with_work if tp in reasons]
    texts = []
    if len(anew) < len(with_work):
        texts.append(f"in batches: {count_text(len(with_work) - len(anew), 'partition')}")
    if anew:
        texts.append(f"encoded anew: {count_text(len(anew), 'partition')} ({_reasons_text(added_reasons(anew))})")
    return "; ".join(texts)


def _reasons_text(anew: Iterable[EncodedAnew]) -> str:
    return "; ".join(f"{count_text(why.partitions, 'partition')} such as {why.topic}-{why.partition}: {why.reason}" for why in anew)


def count_text(number: int, what: str) -> str:
    """A number of things: `1 record`, `1,200 records`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
