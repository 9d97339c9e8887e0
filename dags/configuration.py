"""`mirror.configuration`: exists only while the configuration cannot be read, and fails in every run with the reason.

Without it, a file that cannot be read would let all DAGs of the mirror vanish, and what is not there raises no alarm.
"""

from mirror.airflow.flows import failing_dag
from mirror.config import load
from mirror.errors import ConfigurationError

try:
    load()
except ConfigurationError as error:
    dag = failing_dag("mirror.configuration", error, tags=("mirror",), seconds=60)
