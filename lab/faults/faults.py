"""What a fault is, and the round in which it hits a copy."""

import random
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lab.faults.copy_process import CopyProcess
from lab.faults.site import CopyHere, Site, Stuck
from lab.faults.translations import Tally

Copy = CopyProcess | CopyHere
_GROUPS, _NEAR = 3, 200
_ARRIVES_SECONDS = 2.0


@dataclass
class Round:
    """One round: the flow, and the random numbers that decide everything in it."""

    site: Site
    number: int
    chance: random.Random
    records: int
    cleanups: list[Callable[[], object]] = field(default_factory=list)
    judged: Tally = field(default_factory=Tally)
    """How all answers about groups in this round were judged."""
    last: Tally = field(default_factory=Tally)
    """How the last answers were judged."""
    _before: int = 0

    def produce(self) -> None:
        """Produces something to copy."""
        self.site.produce(self.records, self.chance.getrandbits(30))

    def begin(self) -> None:
        """Notes how much the target holds, and has its topics made, so that the moments count the copy alone."""
        self.site.mirroring.refresh()
        self._before = self.site.count_written()

    def await_moment(self, copy: Copy) -> bool:
        """Waits until a random part of the round is written or, one time in five, for a moment at the copy's start. Where the copy follows,
        more arrives then, one time in two. False if the copy has ended by then."""
        if self.chance.random() < 0.2:
            self._wait_while(copy, lambda: False, self.chance.random() * 0.7)
        else:
            wanted = self._before + self.chance.random() * self.records * 0.6
            self._wait_while(copy, lambda: self.site.count_written() >= wanted, 120)
            time.sleep(self.chance.random() * 0.05)
        if self.site.follow_seconds and self.chance.random() < 0.5:
            self.site.produce(self.records // 4, self.chance.getrandbits(30))
            time.sleep(self.chance.random() * _ARRIVES_SECONDS)
        return copy.running

    def place_groups(self) -> None:
        """Lets some groups commit in all partitions: anywhere in what the source has, and one of them near the end."""
        ends = self.site.ends()
        for number in range(_GROUPS):
            within = {partition: end if number else min(end, _NEAR) for partition, end in ends.items()}
            self.place_group({partition: ends[partition] - self.chance.randint(0, most) for partition, most in within.items()})

    def place_group(self, offsets: Mapping[int, int]) -> None:
        """Lets one more group commit these offsets."""
        groups = self.site.groups
        groups.placed += 1
        if offsets:
            groups.commit(f"{groups.placed}-of-round-{self.number}-{self.site.mirroring.pair.mark}", offsets)

    def judge(self) -> None:
        """Asks where all groups would go on now; no copy may run meanwhile."""
        self.last = self.site.judge()
        self.judged += self.last

    def add_cleanup(self, cleanup: Callable[[], object]) -> None:
        """Has `heal` call it, whatever happens; the last one first."""
        self.cleanups.append(cleanup)

    def heal(self) -> None:
        """Undoes what was done to clusters and networks."""
        while self.cleanups:
            self.cleanups.pop()()

    def _wait_while(self, copy: Copy, reached: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while copy.running and time.monotonic() < deadline and not reached():
            time.sleep(0.005)


@dataclass(frozen=True)
class Fault:
    """One kind of fault. `inject` starts a copy, hits it, and returns when the copy has ended; it says whether the copy still ran when
    it was hit. With `spark`, the copy is a real Spark job. `own_clusters` are needed where brokers are hurt. A copy that `follows` copies
    what arrives, too."""

    key: str
    name: str
    inject: Callable[[Round], bool]
    spark: bool = False
    own_clusters: bool = False
    follows: bool = False

    def with_following(self) -> "Fault":
        """The same fault for a copy that follows."""
        return replace(self, key=f"{self.key}-follow", name=f"{self.name}, following", follows=True)


def await_end(copy: Copy, seconds: float = 180) -> None:
    """Waits for a copy's end, however it ends. Raises Stuck when it does not."""
    try:
        copy.wait(seconds)
    except subprocess.TimeoutExpired as late:
        raise Stuck(f"a copy did not end within {seconds:g} s") from late
