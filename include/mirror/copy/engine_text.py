"""What each engine copied, in words: of one lane, and of a whole run."""

from collections.abc import Sequence

from mirror.copy.engine_choice import FEW
from mirror.copy.model import BATCHES, RECORDS, EncodedAnew, EngineShare


def engines_text(shares: Sequence[EngineShare], anew: Sequence[EncodedAnew]) -> list[str]:
    """What each engine copied, and why not all of it went in batches; nothing where there was little to copy, which is no news."""
    if all(share.engine == RECORDS for share in shares) and {why.reason for why in anew} == {FEW}:
        return []
    reasons = "; ".join(f"{count_text(why.partitions, 'partition')} such as {why.topic}-{why.partition}: {why.reason}" for why in anew)
    texts = []
    for share in shares:
        name = "in batches" if share.engine == BATCHES else "encoded anew"
        copied = f"{count_text(share.records, 'record')}, {share.bytes:,} bytes of {count_text(share.partitions, 'partition')}"
        texts.append(f"{name}: {copied}{f' ({reasons})' if share.engine == RECORDS and reasons else ''}")
    return texts


def count_text(number: int, what: str) -> str:
    """A number of things: `1 record`, `1,200 records`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
