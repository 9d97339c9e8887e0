"""TLS in front of a server that has none: a proxy that ends it, as operators put one before Spark Connect."""

import asyncio
import ssl
import threading
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from services.certificates import Issued
from services.ports import LOOPBACK, free_ports

_CHUNK = 64 * 1024


class TlsProxy:
    """Ends TLS on a port of 127.0.0.1 and hands on what it carries, HTTP/2; runs in a thread of its own."""

    def __init__(self, target: int, issued: Issued, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self._target = target
        file = directory / f"{issued.name}-with-key.pem"
        file.touch(mode=0o600)
        key = issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(key + issued.pem.encode())
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(file)
        self._context.set_alpn_protocols(["h2"])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls", daemon=True)

    def __enter__(self) -> "TlsProxy":
        self._thread.start()
        listening = asyncio.start_server(self._connected, LOOPBACK, self.port, ssl=self._context)
        asyncio.run_coroutine_threadsafe(listening, self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, onward = await asyncio.open_connection(LOOPBACK, self._target)
        await asyncio.gather(_hand_on(reader, onward), _hand_on(back, writer))


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        pass  # one end is gone; the other one is closed below
    finally:
        writer.close()
