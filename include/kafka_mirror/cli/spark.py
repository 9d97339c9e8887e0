"""`spark serve`: a Spark that stays, for copies that begin at once. `spark tune`: a job by spark-submit that starts in half the time."""

import argparse
from pathlib import Path

from kafka_mirror.cli.options import typed
from kafka_mirror.spark.connect_url import DEFAULT_PORT

_TOKEN_FILE = Path(".kafka-mirror") / "spark-connect.token"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes."""
    command.add_argument(
        "action",
        choices=("serve", "tune"),
        help="serve: run Spark's Connect server on 127.0.0.1 until Ctrl-C; tune: let Spark's jobs on this host start in half the "
        "time, once after each change of Java or pyspark",
    )
    command.add_argument("--port", metavar="N", type=typed(_port), default=DEFAULT_PORT, help=f"where it listens (default: {DEFAULT_PORT})")
    command.add_argument("--cores", metavar="N", type=typed(_cores), default=0, help="how many tasks run at once (default: all cores)")
    command.add_argument("--memory", metavar="SIZE", default="512m", help="the heap of its JVM, such as 1g (default: 512m)")
    command.add_argument("--token-file", metavar="FILE", help=f"the file with its token, made if missing (default: ~/{_TOKEN_FILE})")
    command.add_argument("--show-token", action="store_true", help="print the token in the connection's URI")


def run(options: argparse.Namespace) -> int:
    """Runs the server in the foreground, or trains Spark's start; gives the exit code. Needs no configuration."""
    if options.action == "tune":
        from kafka_mirror.spark.tune import tune

        print(tune())  # noqa: T201 — the command's answer
        return 0
    from kafka_mirror.spark.serve import ConnectServer, serve, token_of

    token, source = token_of(Path(options.token_file) if options.token_file else Path.home() / _TOKEN_FILE)
    return serve(ConnectServer(options.port, options.cores, options.memory, token), source, options.show_token)


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 65536:
        return int(text)
    raise ValueError(f"{text!r} is no port")


def _cores(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ValueError(f"{text!r} is no number of cores")
