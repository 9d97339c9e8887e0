"""Files that the command line is tried with, and what is read of its answers."""

import json

VALID = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:9001
west.bootstrap.servers = 127.0.0.1:9002
east->west.enabled = true
"""
THREE_FLOWS = VALID + "west->east.enabled = true\nwest->east.mirror.lane = 3\nnorth.bootstrap.servers = 127.0.0.1:9003\n"
THREE_FLOWS = THREE_FLOWS.replace("east, west", "east, west, north") + "east->north.enabled = true\n"


def only_flow(output):
    """The one entry of the one JSON document on standard output."""
    (flow,) = json.loads(output)["flows"]
    return flow
