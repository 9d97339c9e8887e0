"""`pools`: the Airflow pools that the flows' DAGs need."""

import argparse
import json

from kafka_mirror.cli.answer import DONE, Answer
from kafka_mirror.config import Configuration
from kafka_mirror.config.pools import pools


def add_arguments(step: argparse.ArgumentParser) -> None:
    """The options of `pools`."""
    step.add_argument("--team", metavar="NAME", default="", help="the flows' pools are this team's (Airflow with `[core] multi_team`)")


def run(configuration: Configuration, options: argparse.Namespace) -> Answer:
    """The pools as `airflow pools import` takes them; those of invalid flows too, whose tasks could not say what is wrong without one."""
    document = pools([*configuration.flows, *configuration.invalid], options.team)
    return Answer(DONE, document, text=json.dumps(document, indent=2))
