"""What brokers do to a mirror: killed, paused, leaders moved, elected without all records. Each fault has a name, `inject` and `heal`.

They work on a KafkaCluster of three brokers with its controller apart, and use the witness for what Kafka's admin client does. `draw` takes
one by chance, for series; the same random numbers give the same fault.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kafka_mirror.errors import KafkaFailure
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Partition
from services.kafka import KafkaCluster
from services.oracle import Oracle, OracleError
from services.waiting import eventually

BROKERS = (1, 2, 3)
SEPARABLE = 1
"""The broker that CutOff cuts off, `separable` of its cluster."""

# A broker that is silent for three seconds is fenced, and a follower that lags as long leaves the replicas in sync.
PROPERTIES = {"broker.session.timeout.ms": "3000", "replica.lag.time.max.ms": "3000"}


@dataclass
class Kill:
    """kill -9 of one broker."""

    cluster: KafkaCluster
    broker: int

    @property
    def name(self) -> str:
        return f"kill -9 of broker {self.broker}"

    def inject(self) -> None:
        self.cluster.kill(self.broker)

    def heal(self) -> None:
        self.cluster.start(self.broker)


@dataclass
class Pause:
    """SIGSTOP of one broker: it is fenced after its session, and comes back believing that it still leads."""

    cluster: KafkaCluster
    broker: int

    @property
    def name(self) -> str:
        return f"pause of broker {self.broker}"

    def inject(self) -> None:
        self.cluster.pause(self.broker)

    def heal(self) -> None:
        self.cluster.resume(self.broker)


@dataclass
class MoveLeaders:
    """Other leaders for every partition of the given topics, in order, with the old ones alive: a fetch under way may end early."""

    cluster: KafkaCluster
    oracle: Oracle
    topics: tuple[str, ...]

    name = "leaders moved"

    def inject(self) -> None:
        for topic in self.topics:
            states = self.oracle.partitions(self.cluster.bootstrap, topic)
            rotated = {number: [*state.replicas[1:], state.replicas[0]] for number, state in enumerate(states)}
            self.oracle.move_replicas(self.cluster.bootstrap, topic, rotated)
            self.oracle.elect_leaders(self.cluster.bootstrap, topic, rotated)

    def heal(self) -> None:
        """Nothing: one leader is as good as another."""


@dataclass
class CutOff:
    """The cluster's `separable` broker loses its controller and its peers, and not its clients: it goes on answering as the leader that it
    was, while the others elect another one. `lead` makes it the leader before that."""

    cluster: KafkaCluster
    oracle: Oracle
    topics: tuple[str, ...]
    broker: int = SEPARABLE

    @property
    def name(self) -> str:
        return f"broker {self.broker} cut off from its cluster"

    @property
    def others(self) -> str:
        """`bootstrap.servers` of the brokers that are not cut off."""
        return self.cluster.bootstrap_without(self.broker)

    def lead(self) -> None:
        self._wait_for(lambda partition: set(partition.isr) == set(partition.replicas), "all replicas in sync")
        for topic in self.topics:
            states = self.oracle.partitions(self.cluster.bootstrap, topic)
            first = {n: [self.broker, *(other for other in state.replicas if other != self.broker)] for n, state in enumerate(states)}
            self.oracle.move_replicas(self.cluster.bootstrap, topic, first)
            self.oracle.elect_leaders(self.cluster.bootstrap, topic, first)

    def inject(self) -> None:
        """Returns when the others do not take it for a leader any more. A partition of which no other replica was in sync has none then."""
        self.cluster.links.refuse()
        self._wait_for(lambda partition: partition.leader != self.broker, "other leaders")

    def attract_clients(self, share: float = 1.0, chance: random.Random | None = None) -> None:
        """Leads all connections through the cluster's network to this broker, or this share of them."""
        self.cluster.network.gather(int(self.cluster.proxied_bootstrap.split(",")[self.broker - 1].split(":")[1]), share, chance)

    def heal(self) -> None:
        """Returns when the broker has caught up with the others, by what they say."""
        self.cluster.network.gather(None)
        self.cluster.links.heal()
        self._wait_for(lambda partition: self.broker in partition.isr, f"broker {self.broker} is in sync")

    def _wait_for(self, reached: Callable[[Partition], bool], what: str) -> None:
        def have_all_reached() -> bool:
            # A client of its own each time: one that has heard of the broker that is cut off may go on asking it. And the client gives up
            # a question to a broker of which it hears another address meanwhile.
            try:
                with Cluster("others", {"bootstrap.servers": self.others}, 15) as cluster:
                    topics = cluster.topics(self.topics)
            except KafkaFailure as failure:
                if failure.reason != "_DESTROY_BROKER":
                    raise
                return False
            return len(topics) == len(self.topics) and all(
                reached(partition) for topic in topics.values() for partition in topic.partitions
            )

        eventually(have_all_reached, what)


@dataclass
class UncleanElection:
    """A leader dies alone with records that its follower lacks, and the follower is made leader without them.

    The partitions have the replicas (leader, follower) and min.insync.replicas=1. What is written between `part` and `elect` is lost.
    """

    cluster: KafkaCluster
    oracle: Oracle
    partitions: dict[str, list[int]]
    leader: int = 1
    follower: int = 2
    name: str = field(default="unclean election", init=False)

    def part(self) -> None:
        """Pauses the follower: from now on only the leader gets records, and `bootstrap` has the brokers that answer."""
        self.cluster.pause(self.follower)
        self._wait_for(lambda state: state.in_sync == (self.leader,), "the follower is out of sync")

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` of the brokers that always answer."""
        return self.cluster.bootstrap_without(self.follower)

    def elect(self) -> None:
        """The leader dies; the follower goes on with what it has.

        It wakes as soon as the leader is dead: it is not in sync, so it becomes leader only by the unclean election, and a client that
        knows it would wait for a silent broker.
        """
        self.cluster.kill(self.leader)
        self.cluster.resume(self.follower)
        self.cluster.wait_ready()
        self._wait_for(lambda state: state.leader is None, "the partitions have no leader")
        for topic, numbers in self.partitions.items():
            eventually(lambda: self._elect(topic, numbers), f"{topic} has leaders")  # noqa: B023 — called before the loop goes on

    def heal(self) -> None:
        """The old leader comes back, and cuts off the records that the new leader has not."""
        self.cluster.start(self.leader)

    def _elect(self, topic: str, numbers: Iterable[int]) -> bool:
        self.oracle.elect_leaders(self.bootstrap, topic, numbers, unclean=True)
        return all(self.oracle.partitions(self.bootstrap, topic)[number].leader == self.follower for number in numbers)

    def _wait_for(self, reached: Callable[..., bool], what: str) -> None:
        def have_all_reached() -> bool:
            try:
                return all(
                    reached(self.oracle.partitions(self.bootstrap, topic)[number])
                    for topic, numbers in self.partitions.items()
                    for number in numbers
                )
            except OracleError:
                # The client turned to the broker that is silent or dead: it is asked again until the deadline.
                return False

        eventually(have_all_reached, what)


def draw(cluster: KafkaCluster, oracle: Oracle, topics: Iterable[str], chance: random.Random) -> Kill | Pause | MoveLeaders:
    """One fault by chance. Nothing that is acknowledged by all replicas in sync may be lost by any of them."""
    broker = chance.choice(BROKERS)
    return chance.choice((Kill(cluster, broker), Pause(cluster, broker), MoveLeaders(cluster, oracle, tuple(topics))))
