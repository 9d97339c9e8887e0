"""`pools`: the Airflow pools that the flows' DAGs need."""

import json

from mirror.cli.answer import DONE, Answer
from mirror.config import Configuration
from mirror.config.pools import pools


def run(configuration: Configuration) -> Answer:
    """As `airflow pools import` takes them; those of invalid flows too, for without its pool a task could not even say what is wrong."""
    document = pools([*configuration.flows, *configuration.invalid])
    return Answer(DONE, document, text=json.dumps(document, indent=2))
