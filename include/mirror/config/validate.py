"""What is wrong with a flow, all of it at once, without resolving a secret."""

from mirror.config.catalogue import CATALOGUE
from mirror.config.clients import client_settings
from mirror.config.flow import Flow, Role, Side
from mirror.config.references import has_reference
from mirror.errors import Problem

_CLIENTS: tuple[tuple[Side, Role], ...] = (
    ("source", "admin"),
    ("source", "consumer"),
    ("source", "producer"),
    ("target", "admin"),
    ("target", "consumer"),
    ("target", "producer"),
)


def flow_findings(flow: Flow) -> tuple[list[Problem], list[str]]:
    """Problems and notices of a flow."""
    problems: dict[Problem, None] = {}
    for name, setting in flow.connector.items():
        if name in CATALOGUE and not has_reference(setting.text):
            try:
                CATALOGUE[name].parse(setting.text)
            except ValueError as error:
                problems[Problem(setting.origin, str(error), setting.shown)] = None
    for side, role in _CLIENTS:
        settings = {
            name: setting._replace(unresolved=has_reference(setting.text)) for name, setting in flow.java_settings(side, role).items()
        }
        problems |= dict.fromkeys(client_settings(settings, flow.name, side, role).problems)
    return list(problems), []
