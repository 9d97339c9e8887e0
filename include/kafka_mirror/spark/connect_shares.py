"""How tasks are shared out to the tasks of Spark, and those to messages of Spark Connect. Imports no Spark.

gRPC takes 128 MiB in a message, but a server has no room left long before: it holds a message several times. With a heap of 512 MB, one
died of messages of 30 MB, and took 250 MB in messages of 8.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kafka_mirror.errors import SparkServerRefused

Share = list[bytes]
"""The pickled tasks of one task of Spark, in their order."""
MESSAGE_BYTES = 8 * 1024 * 1024
"""The tasks in one message together, unless a single one is larger."""
LARGEST_TASK_BYTES = 96 * 1024 * 1024


def shares_of(tasks: Sequence[bytes], slices: int, address: str) -> list[Share]:
    """The tasks in so many shares that keep their order, none of them empty; in more, where one would be too large for a message.

    Raises SparkServerRefused where a single task is.
    """
    largest = max(map(len, tasks), default=0)
    if largest > LARGEST_TASK_BYTES:
        raise SparkServerRefused.for_a_task_too_large(address, largest, LARGEST_TASK_BYTES)
    count = min(slices, len(tasks))
    bounds = [len(tasks) * number // count for number in range(count + 1)] if count else [0]
    return [share for start, end in pairwise(bounds) for share in _divided(list(tasks[start:end]))]


def count_for_message(shares: Iterable[Share]) -> int:
    """How many of the shares, from the first on, one message takes: at least one."""
    count = size = 0
    for share in shares:
        size += _size(share)
        if count and size > MESSAGE_BYTES:
            break
        count += 1
    return count


def _divided(share: Share) -> list[Share]:
    if len(share) == 1 or _size(share) <= MESSAGE_BYTES:
        return [share]
    middle = len(share) // 2
    return [*_divided(share[:middle]), *_divided(share[middle:])]


def _size(share: Share) -> int:
    return sum(map(len, share))
