"""Writes the mm2.properties of a pair of clusters of one broker each, as an operator would: for tests and demo.

A run ends with its plan, so that it can be judged; a flow whose runs follow needs `mirror.follow.seconds`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# A cluster of one broker cannot hold three replicas of anything.
ONE_BROKER = {
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
}
RUNS_END = {"mirror.follow.seconds": "0"}
"""With it a run ends with its plan."""


@dataclass(frozen=True)
class ClusterPair:
    """Two clusters under the aliases that a flow calls them by, and the mark by which topics of this pair are known.

    Clusters are shared by many tests. By its own aliases and topic names each has its own ledger, remote topics and transactional ids.
    """

    source: str
    target: str
    source_bootstrap: str
    target_bootstrap: str
    mark: str
    directory: Path

    @property
    def flow(self) -> str:
        """The flow's name, `source->target`."""
        return f"{self.source}->{self.target}"

    def topic(self, name: str) -> str:
        """A source topic of this pair: the name with the mark, so that the flow's default `topics` selects it and no other."""
        return f"{name}-{self.mark}"

    def remote(self, topic: str) -> str:
        """The name of a source topic's mirror under the DefaultReplicationPolicy."""
        return f"{self.source}.{topic}"

    def properties(self, topics: str | None = None, extra: Mapping[str, str] | None = None, *, file: str = "mm2.properties") -> Path:
        """Writes the file and gives its path. In `extra`, `source->target`, `source.` and `target.` stand for the aliases. A cluster that
        has an Airflow connection there gets no addresses."""
        more = {self._replace_roles(name): value for name, value in (extra or {}).items()}
        lines = {
            "clusters": f"{self.source}, {self.target}",
            f"{self.source}.bootstrap.servers": self.source_bootstrap,
            f"{self.target}.bootstrap.servers": self.target_bootstrap,
            f"{self.flow}.enabled": "true",
            f"{self.flow}.topics": topics or f".*-{self.mark}",
            **ONE_BROKER,
            **RUNS_END,
            **more,
        }
        if lines[f"{self.source}.bootstrap.servers"] == lines[f"{self.target}.bootstrap.servers"]:
            lines.setdefault("mirror.one.cluster", "true")
        for alias in (self.source, self.target):
            if f"{alias}.connection" in more:
                del lines[f"{alias}.bootstrap.servers"]
        path = self.directory / file
        path.write_text("".join(f"{name} = {_escape(value)}\n" for name, value in lines.items()))
        return path

    def _replace_roles(self, name: str) -> str:
        for role, alias in (("source->target", self.flow), ("source", self.source), ("target", self.target)):
            if name.startswith(f"{role}."):
                return alias + name[len(role) :]
        return name


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
