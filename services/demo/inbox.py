"""The demo's inbox: takes the mirror's alerts as a chat or a pager would, and writes them into a file. A process of its own:

python -m services.demo.inbox <port> <file>
"""

import signal
import sys
import threading
from pathlib import Path

from services.sinks import HttpSink, Posted


def line(posted: Posted) -> str:
    """An alert that arrived, for people."""
    alert = posted.body["alert"]
    word = "over " if posted.body["event"] == "cleared" else "alert"
    details = [f"       {text}" for text in alert["detail"].splitlines()]
    details += [f"       Next: {alert['next']}"] if alert["next"] and posted.body["event"] == "opened" else []
    return "\n".join([f"{word}  {posted.body['title']}", *details, f"       {alert['kind']}, since {alert['since']}"])


def main(port: str, file: str) -> None:
    """Ends with SIGTERM."""
    stop, written = threading.Event(), 0
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    with HttpSink(int(port)) as sink:
        while not stop.wait(0.2):
            arrived = sink.posted[written:]
            with Path(file).open("a", encoding="utf-8") as inbox:
                inbox.writelines(f"{line(each)}\n" for each in arrived)
            written += len(arrived)


if __name__ == "__main__":
    main(*sys.argv[1:])
