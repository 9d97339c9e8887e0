"""`mirror.configuration`: exists only while something of the configuration cannot be used, and fails in every run with the reason.

Without it, a file that cannot be read would let the DAGs of its flows vanish, and what is not there raises no alarm. A flow that is wrong
keeps its DAGs, but where they are new they come up paused as any DAG does. The flows of other files live on.
"""

from mirror.airflow.flows import failing_dag
from mirror.config import load, together
from mirror.errors import ConfigurationError

DOC = """
Something of the configuration cannot be used, and this DAG is red until it can. It has nothing to do, writes nothing and asks no cluster.
It is there only as long as that lasts, runs every minute, and comes up unpaused whatever `dags_are_paused_at_creation` says.

**When not to use it.** It is never to be paused: Airflow would remember that, and with the next fault it would come back paused, and
nobody would be told. To be silent, correct what is named, or switch the flow off (`enabled = false`).

**When it is red**, the log of its task names each file, flow and property, and what is allowed. What was correct goes on meanwhile. The
DAGs of a file that cannot be read are gone as long as that lasts, and come back as they were, paused or not.
"""

try:
    configuration = load()
    wrong = (*configuration.unreadable, *(each.error for each in (*configuration.invalid, *configuration.invalid_beating)))
except ConfigurationError as error:
    wrong = (error,)

if wrong:
    # The DAGs of a wrong flow are not brought up unpaused: corrected, they would begin to copy though nobody unpaused them.
    dag = failing_dag("mirror.configuration", together(wrong), tags=("mirror",), seconds=60, doc=DOC, never_paused=True)
