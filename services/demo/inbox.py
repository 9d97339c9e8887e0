"""The demo's inbox: takes the mirror's alerts as a chat or a pager would, and writes them into a file. A process of its own:

python -m services.demo.inbox <port> <file>
"""

import signal
import sys
import threading
from pathlib import Path

from services.sinks import HttpSink, Posted


def format_alert(posted: Posted) -> str:
    """An alert that arrived, for people."""
    alert = posted.body["alert"]
    lines = [f"{alert['kind']}, since {alert['since']}"]
    if posted.body["event"] == "cleared":
        return _indent(f"over   {posted.body['title']}", lines)
    return _indent(f"alert  {posted.body['title']}", [*alert["detail"].splitlines(), f"Next: {alert['next']}", *lines])


def _indent(first: str, lines: list[str]) -> str:
    return "\n".join([first, *(f"       {text}" for text in lines)])


def main(port: str, file: str) -> None:
    """Ends with SIGTERM."""
    stop, written = threading.Event(), 0
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    with HttpSink(int(port)) as sink:
        while not stop.wait(0.2):
            arrived = sink.posted[written:]
            with Path(file).open("a", encoding="utf-8") as inbox:
                inbox.writelines(f"{format_alert(alert)}\n" for alert in arrived)
            written += len(arrived)


if __name__ == "__main__":
    main(*sys.argv[1:])
