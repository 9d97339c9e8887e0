"""The demo's stream."""

import json

from services.demo.shop import TOPICS, Shop


def test_payment_belongs_to_its_order_and_comes_after_it() -> None:
    order, payment = Shop(1).checkout(1_700_000_000_000)
    placed, paid = json.loads(order.value), json.loads(payment.value)
    assert (order.topic, payment.topic) == ("orders", "payments")
    assert payment.key == placed["order"].encode() == paid["order"].encode()
    assert paid["cents"] == sum(item["pieces"] * item["cents"] for item in placed["items"])
    assert payment.timestamp > order.timestamp == 1_700_000_000_000


def test_clicks_come_with_and_without_a_key_and_all_records_with_headers() -> None:
    shop = Shop(1)
    clicks = [shop.click(n) for n in range(200)]
    assert {click.topic for click in clicks} <= set(TOPICS)
    assert 20 < sum(click.key is None for click in clicks) < 80
    assert all(dict(click.headers)["content-type"] == b"application/json" for click in clicks)


def test_same_seed_gives_the_same_stream() -> None:
    assert Shop(7).checkout(1) == Shop(7).checkout(1)
    assert Shop(7).checkout(1) != Shop(8).checkout(1)
