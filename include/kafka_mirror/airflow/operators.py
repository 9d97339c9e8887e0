"""The mirror in people's own DAGs: `from kafka_mirror.airflow.operators import MirrorCompleteSensor, MirrorAuditOperator`.

The mirror's own DAGs are made of these classes, or of the steps that these classes run.
"""

from kafka_mirror.airflow.audit import MirrorAuditOperator
from kafka_mirror.airflow.backfill import MirrorBackfillOperator
from kafka_mirror.airflow.copy import MirrorCopyOperator
from kafka_mirror.airflow.cutover import MirrorCutoverOperator
from kafka_mirror.airflow.hooks import MirrorHook
from kafka_mirror.airflow.sensors import MirrorCompleteSensor

__all__ = [
    "MirrorAuditOperator",
    "MirrorBackfillOperator",
    "MirrorCompleteSensor",
    "MirrorCopyOperator",
    "MirrorCutoverOperator",
    "MirrorHook",
]
