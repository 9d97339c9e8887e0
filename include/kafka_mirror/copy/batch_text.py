"""How the source's batches went, in words: of one lane, and of a whole run."""

from collections.abc import Sequence

from kafka_mirror.copy.model import FORWARDED, JOINED, REWRITTEN, BatchShare, RewriteReason
from kafka_mirror.errors.words import count_text


def batches_text(shares: Sequence[BatchShare], rewritten: Sequence[RewriteReason]) -> list[str]:
    """How many batches were forwarded, joined and rewritten, and why; nothing where none was copied."""
    counts = {share.way: share.batches for share in shares}
    if not counts:
        return []
    reasons = "; ".join(
        f"{count_text(why.batches, 'batch', 'batches')} such as in {why.topic}-{why.partition}: {why.reason}" for why in rewritten
    )
    ways = ", ".join(f"{counts.get(way, 0):,} {way}" for way in (FORWARDED, JOINED, REWRITTEN))
    return [f"batches of the source: {ways}{f' ({reasons})' if reasons else ''}"]
