"""`mirror.configuration`: exists only while something of the configuration cannot be used, and fails in every run with the reason.

Without it, a file that cannot be read would let the DAGs of its flows vanish, and what is not there raises no alarm. A flow that is wrong
keeps its DAGs, but where they are new they come up paused as any DAG does. The flows of other files live on.
"""

from collections.abc import Sequence

from airflow.sdk import DAG

from kafka_mirror.airflow.dags.factory import failing_dag
from kafka_mirror.config import join_errors
from kafka_mirror.errors import ConfigurationError

DOC = """
A part of the configuration cannot be used, and this DAG is red until somebody corrects it. It writes nothing and asks no cluster. It exists
only as long as the fault does, runs each minute, and comes up unpaused, whatever `dags_are_paused_at_creation` says.

**When not to use it.** Never pause it: Airflow would remember that, the DAG would come back paused with the next fault, and no person would
notice. To silence it, correct what it names, or switch the flow off (`enabled = false`).

**When it is red**, the log of its task names each file, flow and property, and the values that are allowed. Correct flows go on meanwhile.
The DAGs of a file that cannot be read vanish, and come back as they were, paused or not, when it can be read again.
"""


def alarm(dag_id: str, wrong: Sequence[ConfigurationError]) -> DAG:
    """The DAG that says all that is wrong."""
    # The DAGs of a wrong flow are not brought up unpaused: corrected, they would begin to copy though no person unpaused them.
    return failing_dag(dag_id, join_errors(wrong), tags=("mirror",), seconds=60, doc=DOC, never_paused=True)
