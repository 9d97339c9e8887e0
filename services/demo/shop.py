"""What happens in the demo's shop: orders with their payments, and the clicks before them. Pure: the same for the same seed."""

import json
import random
from dataclasses import dataclass
from typing import Any

TOPICS = {"orders": 4, "payments": 3, "clicks": 6}
"""The topics with their partitions."""

RETURNS = "returns"
"""A topic of one partition, which nothing is written to until the demo loses records of it."""

_PRODUCTS = ("espresso cups", "desk lamp", "rain jacket", "chess set", "garden hose", "bread knife", "travel map", "wool socks")
_PAGES = ("/", "/search", "/sale", "/basket", "/help", *(f"/product/{name.replace(' ', '-')}" for name in _PRODUCTS))
_METHODS = ("card", "invoice", "transfer")


@dataclass(frozen=True)
class Message:
    """One record to be written. `timestamp` in Unix milliseconds."""

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    timestamp: int


class Shop:
    """Customers at work."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._orders = seed % 1_000_000

    def click(self, at: int) -> Message:
        """Somebody looks at a page. One in four is not logged in, so the record has no key."""
        is_logged_in = self._random.random() < 0.75
        customer = self._customer()
        value = {"page": self._random.choice(_PAGES), "milliseconds": int(self._random.expovariate(1 / 900))}
        return self._message("clicks", customer if is_logged_in else None, value, at)

    def checkout(self, at: int) -> list[Message]:
        """An order and its payment: they belong into one transaction."""
        self._orders += 1
        customer, order = self._customer(), f"order-{self._orders:07}"
        items: list[dict[str, Any]] = [
            {"product": product, "pieces": self._random.randint(1, 4), "cents": self._random.randint(300, 20_000)}
            for product in self._random.sample(_PRODUCTS, self._random.randint(1, 4))
        ]
        total = sum(item["pieces"] * item["cents"] for item in items)
        payment = {"order": order, "method": self._random.choice(_METHODS), "cents": total}
        return [
            self._message("orders", customer, {"order": order, "customer": customer, "items": items, "cents": total}, at),
            self._message("payments", order, payment, at + self._random.randint(50, 900)),
        ]

    def _customer(self) -> str:
        return f"customer-{int(self._random.paretovariate(0.6)) % 5000:04}"

    def _message(self, topic: str, key: str | None, value: object, at: int) -> Message:
        trace = f"{self._random.getrandbits(64):016x}".encode()
        headers = (("content-type", b"application/json"), ("trace-id", trace))
        return Message(topic, None if key is None else key.encode(), json.dumps(value, separators=(",", ":")).encode(), headers, at)
