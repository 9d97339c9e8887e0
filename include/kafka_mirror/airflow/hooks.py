"""The hook of a flow, for people's own tasks: the flow with its logins, and a test that the mirror can work with its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from kafka_mirror.airflow.flow_files import configured_flow, flow_name, set_files
from kafka_mirror.config.load import paths_of
from kafka_mirror.errors import MirrorError

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


class MirrorHook(BaseHook):
    """The clusters of a flow, with the logins of its configuration. `config` names the files in the place of MIRROR_CONFIG."""

    def __init__(self, flow: str, config: str = "") -> None:
        super().__init__()
        self.flow = flow_name(flow).name
        if config:
            set_files([flow_name(flow)], [str(path) for path in paths_of(config)])

    def get_flow(self) -> Flow:
        """The flow as its files have it now. Raises ConfigurationError, or UsageError for a flow that is not there."""
        return configured_flow(self.flow)

    def test_connection(self) -> tuple[bool, str]:
        """Whether a copy of the flow would work, and a sentence: it reaches both clusters and plans a copy without writing anything.

        The plan's errors are what the mirror may not read or describe, and what a person must decide. Then both clusters are asked what the
        mirror may not write; whether it may use its transactional ids only a write shows.
        """
        from kafka_mirror.copy.plan.run import plan_context
        from kafka_mirror.status.observe import refused_writes

        try:
            flow = self.get_flow()
            context = plan_context(flow, dry_run=True)
            refused = refused_writes(flow, [topic.name for topic in context.remotes.values()])
        except MirrorError as error:
            return False, str(error)
        errors = [*context.plan.errors, *refused]
        answer = f"{self.flow}: both clusters answer, and {len(context.topics)} topics are to be mirrored."
        return not errors, "\n- ".join([answer, *(str(error) for error in errors)])
