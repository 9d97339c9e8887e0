"""What of a flow only shows when its references are resolved, all of it at once, before anything is written."""

from mirror.config.catalogue import CATALOGUE
from mirror.config.flow import CLIENTS, Flow
from mirror.errors import ConfigurationError, Problem

ELSEWHERE = frozenset({"mirror.metrics.token"})
"""Properties that the api-server alone reads: what they refer to need not be known where tasks run."""


def unreadable(flow: Flow) -> list[Problem]:
    """Every property whose reference cannot be read, or leads to something that is not allowed there; each once."""
    problems: dict[Problem, None] = {}
    for name in flow.connector:
        if name in CATALOGUE and name not in ELSEWHERE:
            try:
                flow.value(name)
            except ConfigurationError as error:
                problems |= dict.fromkeys(error.problems)
    for side, role in CLIENTS:
        try:
            flow.client(side, role)
        except ConfigurationError as error:
            problems |= dict.fromkeys(error.problems)
    return list(problems)


def check_readable(flow: Flow) -> None:
    """Raises ConfigurationError with everything that `unreadable` finds."""
    problems = unreadable(flow)
    if problems:
        raise ConfigurationError(problems, flow=flow.name)
