"""`spark serve`: a Spark that stays, for copies that begin at once. `spark tune`: a job by spark-submit that starts in half the time."""

import argparse
from pathlib import Path

from kafka_mirror.cli.arguments import TOKEN_FILE
from kafka_mirror.spark.serve import ConnectServer, serve, token_of
from kafka_mirror.spark.tune import tune


def run(options: argparse.Namespace) -> int:
    """Runs the server in the foreground, or trains Spark's start; gives the exit code. Needs no configuration."""
    if options.action == "tune":
        print(tune())  # noqa: T201 — the command's answer
        return 0
    token, source = token_of(Path(options.token_file) if options.token_file else Path.home() / TOKEN_FILE)
    return serve(ConnectServer(options.port, options.cores, options.memory, token), source, options.show_token)
