"""The network between two clusters, on this machine: a TCP proxy that delays what passes, and that can be cut and healed.

A cluster that is started with `proxied=True` advertises the proxy's address on one of its listeners, so every connection of a client that
bootstraps there goes through the proxy.
"""

import asyncio
import random
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from services.ports import LOOPBACK

_CHUNK = 64 * 1024
_ON_THE_WAY = 1024  # chunks in one direction of a connection: 64 MB, far more than a client's window, so a delay never becomes a rate

Result = TypeVar("Result")
_Way = asyncio.Queue[tuple[float, bytes]]


class Proxy:
    """Forwards each port in `routes` to another one on 127.0.0.1; runs in a thread of its own.

    Everything may be changed while connections pass; a change holds when the call returns.
    """

    def __init__(self, routes: Mapping[int, int]) -> None:
        self._routes = dict(routes)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._passing = asyncio.Event()
        self._answering = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._gathered: int | None = None
        self._share = 1.0
        self._chance = random.Random()
        self._seconds = 0.0
        self.accepted = 0
        """Connections so far."""
        self.passed = 0
        """Bytes that were taken so far, in either direction."""

    def start(self) -> None:
        """Listens on every port."""
        if not self._thread.is_alive():
            self._thread.start()
            self.heal()

    def stop(self) -> None:
        """Closes every connection and ends the thread."""
        if self._thread.is_alive():
            self.refuse()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()

    def delay(self, milliseconds: float) -> None:
        """From now on every byte arrives this much later, in either direction. Order and throughput do not change."""
        self._run(self._set_delay(milliseconds / 1000))

    def refuse(self) -> None:
        """Drops every connection and refuses new ones, as a host without the service does."""
        self._run(self._close())

    def hold(self) -> None:
        """Keeps every connection open and delivers nothing, as a router that loses everything does. What is sent arrives after `heal`."""
        self._run(self._clear(self._passing))

    def hold_answers(self) -> None:
        """Delivers requests and no answers, until `heal`; with `drop` before that, the answers are lost."""
        self._run(self._clear(self._answering))

    def heal(self) -> None:
        """Lets everything pass again, as late as `delay` says."""
        self._run(self._open())

    def gather(self, port: int | None, share: float = 1.0, chance: random.Random | None = None) -> None:
        """From now on every port leads where this one does: a client reaches no other broker, whatever addresses it gets. None: each port
        leads where it did before. Drops every connection. With a `share`, only this part of the new connections goes there, by chance."""
        self._run(self._set_gathered(port, share, chance or random.Random()))

    def drop(self, share: float = 1.0, chance: random.Random | None = None) -> int:
        """Drops this share of the open connections, drawn by chance; new ones pass. Gives how many it dropped."""
        return self._run(self._drop(share, chance or random.Random()))

    # ------------------------------------------------------------ in the proxy's thread

    def _run(self, change: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(change, self._loop).result(60)

    async def _set_delay(self, seconds: float) -> None:
        self._seconds = seconds

    async def _clear(self, event: asyncio.Event) -> None:
        event.clear()

    async def _set_gathered(self, port: int | None, share: float, chance: random.Random) -> None:
        self._gathered, self._share, self._chance = port, share, chance
        await self._drop(1.0, random.Random())

    async def _open(self) -> None:
        self._passing.set()
        self._answering.set()
        if not self._servers:
            for port in self._routes:
                self._servers.append(await asyncio.start_server(self._accept(port), LOOPBACK, port))

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        await self._drop(1.0, random.Random())

    async def _drop(self, share: float, chance: random.Random) -> int:
        chosen = [connection for connection in self._connections if chance.random() < share]
        for connection in chosen:
            connection.cancel()
        if chosen:
            await asyncio.wait(chosen)
        return len(chosen)

    def _accept(self, port: int) -> Any:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted += 1
            elsewhere = self._gathered if self._chance.random() < self._share else None
            upstream = self._routes[port if elsewhere is None else elsewhere]
            connection = self._loop.create_task(self._connect(reader, writer, upstream))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)

        return accept

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: int) -> None:
        """Passes one connection on, until either end is gone; then it closes the other one."""
        writers = [writer]
        try:
            await asyncio.sleep(2 * self._seconds)  # a real connection takes a round trip to come about
            await self._passing.wait()
            onward, back = await asyncio.open_connection(LOOPBACK, upstream)
            writers.append(back)
            async with asyncio.TaskGroup() as ways:
                for source, sink, open_ways in (
                    (reader, back, (self._passing,)),
                    (onward, writer, (self._passing, self._answering)),
                ):
                    way: _Way = asyncio.Queue(_ON_THE_WAY)
                    ways.create_task(self._take(source, way))
                    ways.create_task(self._deliver(way, sink, open_ways))
        except* OSError:
            # One end is gone, or a cut refused it, as happens to connections; below, the other end is closed too.
            pass
        finally:
            for opened in writers:
                opened.transport.abort()

    async def _take(self, source: asyncio.StreamReader, way: _Way) -> None:
        """Stamps each chunk with the time at which it is due, so a delay does not hold up the chunks after it."""
        chunk = b"begin"
        while chunk:
            chunk = await source.read(_CHUNK)
            self.passed += len(chunk)
            await way.put((self._loop.time() + self._seconds, chunk))

    async def _deliver(self, way: _Way, sink: asyncio.StreamWriter, open_ways: Sequence[asyncio.Event]) -> None:
        while True:
            due, chunk = await way.get()
            await asyncio.sleep(due - self._loop.time())
            for open_way in open_ways:
                await open_way.wait()
            if not chunk:
                sink.write_eof()
                return
            sink.write(chunk)
            await sink.drain()
