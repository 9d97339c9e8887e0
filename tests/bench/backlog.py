"""The backlogs that both mirrors copy: records as an application writes them, with a key and without headers."""

from dataclasses import dataclass

from tests.bench.stage import Stage

PARTITIONS = 4
_START_RECORDS = 1000
_TEXT_BYTES = 32 * 1024  # zstd then makes a third of the values, as of usual records


@dataclass(frozen=True)
class Backlog:
    """Records of one size in a source topic; `codec` is what their producer compresses with."""

    name: str
    size: int
    records: int
    codec: str = "none"
    partitions: int = PARTITIONS

    @property
    def topic(self) -> str:
        """The source topic."""
        return f"{self.name.replace(' ', '-').lower()}-{self.records}-bench"

    def of_the_start(self) -> "Backlog":
        """A backlog of the same kind that is so small that a copy of it costs what every copy costs."""
        return Backlog(self.name, self.size, _START_RECORDS, self.codec, self.partitions)

    def produce(self, stage: Stage) -> None:
        """Creates the topic and fills it, in batches as Kafka's producer makes them by default (16 KB)."""
        stage.oracle.create_topic(stage.source.bootstrap, self.topic, self.partitions)
        stage.oracle.produce(
            stage.source.bootstrap,
            self.topic,
            self.records,
            seconds=300,
            min_size=self.size,
            max_size=self.size,
            null_keys=False,
            null_values=False,
            headers=False,
            codec=self.codec,
            text_size=_TEXT_BYTES,
            batch_size=16384,
        )
