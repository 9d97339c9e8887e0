"""The backlogs that both mirrors copy: records as an application writes them, with a key and without headers."""

from dataclasses import dataclass, replace

from lab.bench.stage import Stage

PARTITIONS = 4
DEFAULT_BATCH_BYTES = 16 * 1024
_START_RECORDS = 1000
_TEXT_BYTES = 4 * 1024 * 1024  # more than any batch holds: then a codec makes a third of the values, as of usual records
_LINGER_MS = 200  # so long that only a full batch is sent, but the last


@dataclass(frozen=True)
class Backlog:
    """Records of one size in a source topic; `codec` is what their producer compresses with, `batch_bytes` its batch.size: how large its
    batches are once they are compressed. With 1, each record is a batch."""

    name: str
    size: int
    records: int
    codec: str = "none"
    partitions: int = PARTITIONS
    batch_bytes: int = DEFAULT_BATCH_BYTES

    @property
    def topic(self) -> str:
        """The source topic."""
        words = self.name.replace(",", "").lower().split()
        return f"{'-'.join(words)}-{self.records}-bench"

    def make_start(self) -> "Backlog":
        """A backlog of the same kind that is so small that a copy of it costs what every copy costs."""
        return replace(self, records=_START_RECORDS)

    def produce(self, stage: Stage) -> None:
        """Creates the topic and fills it."""
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
            batch_size=self.batch_bytes,
            linger_ms=_LINGER_MS if self.batch_bytes > 1 else 0,
        )
