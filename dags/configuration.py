"""`mirror.configuration`: exists only while a file of the configuration cannot be read, and fails in every run with the reason.

Without it, such a file would let the DAGs of its flows vanish, and what is not there raises no alarm. The flows of other files live on.
"""

from mirror.airflow.flows import failing_dag
from mirror.config import load, together
from mirror.errors import ConfigurationError

try:
    unreadable = load().unreadable
except ConfigurationError as error:
    unreadable = (error,)

if unreadable:
    dag = failing_dag("mirror.configuration", together(unreadable), tags=("mirror",), seconds=60)
