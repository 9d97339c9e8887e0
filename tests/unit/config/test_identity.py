import pytest

from mirror.config.cross_flow import identity_cycles

POLICY = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"


@pytest.fixture
def cycles(configuration):
    """`cycles(lines)`: what is found among the enabled flows of a, b and c, each flow's topics unlike the others' to begin with."""

    def find(lines, enabled=("a->b", "b->a")):
        aliases = "".join(f"{alias}.bootstrap.servers = h:{port}\n" for port, alias in enumerate("abc", start=1))
        flows = {}
        for name in enabled:
            own = configuration(f"clusters = a, b, c\n{aliases}{POLICY}{lines}\n{name}.enabled = true")
            flows[name] = own.flow(name)
        return identity_cycles(flows.values())

    return find


def both(one, other, *excluded):
    lines = [f"a->b.topics = {one}", f"b->a.topics = {other}", *excluded]
    return "\n".join(lines).replace("\\", "\\\\")


@pytest.mark.parametrize(
    "lines",
    [
        "",
        both("orders", "orders"),
        both("orders", "or.*"),
        both("a|orders", "orders"),
        both("orders.*", "order.*"),
        both("x.*, orders.*", "y.*, orders-eu.*"),
        both("ab*.*", "a.*"),
        both("(?i)Orders.*", "orders"),
        both(r"\Qorders\E", "orders"),
        both("a.b", "a.b"),
        both("orders.v1", "orders-v1"),
        both("orders.v1", "orders-v.*"),
        both("orders.v1", r"orders\-v1"),
        both("orders-v1, payments", "orders.v1, clicks"),
        both("orders.v.", "orders.*1"),
        both("(?i)a, orders", "ORDERS"),
        both("^orders.*$", "orders-eu"),
    ],
)
def test_topics_that_go_round_are_found(cycles, lines):
    assert cycles(lines) == {"a->b": "a -> b -> a", "b->a": "a -> b -> a"}


@pytest.mark.parametrize(
    "lines",
    [
        both("orders", "payments"),
        both("a-.*", "b-.*"),
        both(r"a\.x.*", r"b\.x.*"),
        both("a-x, a-y", "b-.*"),
        both(".*", "b-.*", "a->b.topics.exclude = b-.*"),
        both(".*", "orders", "a->b.topics.exclude = ord.*"),
        both("orders.v1", "orders.v2"),
        both("orders.v1", r"orders\..*", "b->a.topics.exclude = orders.v1"),
        both(".*-eu", ".*-us"),
        both("orders-(eu|us)", "orders-(asia|africa)"),
        both("orders-[0-9]+", "orders-[a-z]+"),
        both(".*", "orders.*", "a->b.topics.exclude = ord.*"),
        "b->a.replication.policy.class = org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
    ],
)
def test_topics_that_keep_apart_are_no_cycle(cycles, lines):
    assert cycles(lines) == {}


def test_a_longer_way_round_is_found_and_a_chain_is_none(cycles):
    assert cycles("", ("a->b", "b->c", "c->a")) == dict.fromkeys(("a->b", "b->c", "c->a"), "a -> b -> c -> a")
    assert cycles("", ("a->b", "b->c", "a->c")) == {}
    assert cycles("b->c.topics = x-.*\na->b.topics = y-.*", ("a->b", "b->c", "c->a")) == {}


def test_a_way_back_closes_no_circle_with_the_flow_whose_topics_it_brings_back(cycles):
    assert cycles("b->a.mirror.way.back = true") == {}
    assert cycles("a->b.mirror.way.back = true\nb->a.mirror.way.back = true") == {}


def test_a_way_back_in_a_longer_way_round_closes_it_for_no_other_flow_knows_of_the_cutover(cycles):
    around = dict.fromkeys(("a->b", "b->c", "c->a"), "a -> b -> c -> a")
    assert cycles("c->a.mirror.way.back = true", ("a->b", "b->c", "c->a")) == around
