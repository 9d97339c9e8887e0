"""What a run of a wave changes outside the control topic it changes only while the wave is its own.

Kafka knows no condition on an ACL. So the run looks whose the wave is directly before it changes some and directly after. If another run
has it by then, a roll back perhaps, what was changed is put to where the newer run has it. For positions of groups there is a better way:
`groups.placement`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka_mirror.cutover.wave.step import WaveNotes
from kafka_mirror.errors import MirrorError, WaveRunElsewhere


@dataclass(frozen=True)
class Mended:
    """What was put back for another run, and what could not be, in words."""

    done: tuple[str, ...] = ()
    unmended: tuple[str, ...] = ()


@contextmanager
def owning(notes: WaveNotes, put_back: Callable[[], Mended]) -> Iterator[None]:
    """Changes something for a wave. Raises WaveRunElsewhere if another run has the wave: with what `put_back` did and could not do, if
    it took the wave while the change was made. It looks also if the change was interrupted: a process that stood still wakes with its time
    limit over."""
    notes.check()
    try:
        yield
    except BaseException as error:
        _look_again(notes, put_back, error)
        raise
    _look_again(notes, put_back, None)


def _look_again(notes: WaveNotes, put_back: Callable[[], Mended], cause: BaseException | None) -> None:
    try:
        notes.check()
    except WaveRunElsewhere as elsewhere:
        try:
            mended = put_back()
        except MirrorError as error:
            mended = Mended(unmended=(error.message,))
        raise WaveRunElsewhere(elsewhere.wave, elsewhere.who, mended.done, mended.unmended) from cause
