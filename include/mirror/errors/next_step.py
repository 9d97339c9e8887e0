"""The command that answers an error, written out so that it can be copied."""

FLOW = "<flow>"
"""Stands for the flow's name in an error that does not know it; `ErrorReport.of_flow` puts the name in."""


def decide(decision: str, *, topic: str | None = None, partition: int | None = None, options: str = "") -> str:
    """The command line by which a person takes a decision."""
    where = "".join((f" --topic {topic}" if topic is not None else "", f" --partition {partition}" if partition is not None else ""))
    return f"python -m mirror decide {decision} --flow '{FLOW}'{where}{options and ' ' + options} --reason \"…\""
