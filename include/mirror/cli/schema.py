"""`config --schema`: the JSON Schema of `mm2.properties`, for editors and CI. It needs no configuration."""

import argparse
import json
import sys

from mirror.config.json_schema import json_schema


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes."""
    command.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of mm2.properties instead, for editors and CI; needs no configuration"
    )


def print_schema() -> int:
    """Prints it; the exit code."""
    sys.stdout.write(f"{json.dumps(json_schema(), indent=2)}\n")
    return 0
