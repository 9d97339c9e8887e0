"""The mirror in people's own DAGs: `from kafka_mirror.airflow.operators import MirrorCompleteSensor, MirrorAuditOperator`.

The mirror's own DAGs are made of these classes.
"""

from kafka_mirror.airflow.audit import MirrorAuditOperator
from kafka_mirror.airflow.sensors import MirrorCompleteSensor

__all__ = ["MirrorAuditOperator", "MirrorCompleteSensor"]
