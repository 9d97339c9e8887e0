"""What a command was asked for by name. Without `--flow` it may be another flow's, so each name has to be known to one of them at least."""

import argparse
from collections.abc import Iterable

from kafka_mirror.cli.answer import FAILED, Answer
from kafka_mirror.errors import NothingSelected

TOPICS, TOPIC, GROUP = "topics", "topic", "group"
_OPTIONS = {"audit": TOPICS, "backfill": TOPICS, "status": TOPIC, "translate": GROUP}
"""The option by which each command is asked for something by name. The other commands with such an option need `--flow`."""


def asked_for(options: argparse.Namespace) -> frozenset[str]:
    """The names; none if the command was not asked for any."""
    option = _OPTIONS.get(options.command)
    given = getattr(options, option, None) if option is not None else None
    if not given:
        return frozenset()
    from kafka_mirror.audit.run import names

    return frozenset(names(given)) if option == TOPICS else frozenset((given,))


def unknown_names_notice(options: argparse.Namespace, known: Iterable[str]) -> Answer | None:
    """Returns the notice about names that no flow knew; None if every name was known."""
    missing = sorted(asked_for(options).difference(known))
    return Answer(FAILED, errors=(NothingSelected(options.command, missing).report(),)) if missing else None
