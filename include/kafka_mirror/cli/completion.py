"""Completion of the command line by the shell, through argcomplete: commands, options, and the flows of the configuration."""

import argparse
import os
from typing import Any

from kafka_mirror.cli.options import flow_names


def complete(top: argparse.ArgumentParser) -> None:
    """Answers the shell and leaves the program, if it is the shell that asks."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(top)


def complete_flow(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """What the shell offers behind `--flow`."""
    return flow_names(parsed_args)
