"""When two aliases lead to one cluster."""

from types import SimpleNamespace as Answer

import pytest

from mirror.errors import SameCluster
from mirror.sync.flow_clusters import check_two_clusters


def side(alias, *ids):
    return Answer(alias=alias, ids=lambda: frozenset(ids), settings={"bootstrap.servers": f"{alias}-1:9092,{alias}-2:9092"})


@pytest.mark.parametrize("ids", [("a",), ("b", "a"), ("a", "b")])
def test_brokers_of_both_aliases_that_tell_one_id_are_an_error_that_names_all_of_it(ids):
    with pytest.raises(SameCluster) as refused:
        check_two_clusters(side("dc1", "a"), side("dc2", *ids), may_be_one=False)
    error = refused.value
    assert (error.source, error.target, error.cluster_id) == ("dc1", "dc2", "a")
    addresses = error.source_address, error.target_address
    assert addresses == ("dc1-1:9092,dc1-2:9092", "dc2-1:9092,dc2-2:9092")
    assert all(each in error.message for each in ("'dc1'", "'dc2'", *addresses, "cluster, a:"))
    assert "dc1->dc2.mirror.one.cluster=true" in error.next


@pytest.mark.parametrize(("source", "target"), [(("a",), ("b",)), ((), ()), (("None",), ("None",)), (("",), ("",)), (("a",), ())])
def test_others_and_those_that_tell_no_id_are_none(source, target):
    check_two_clusters(side("dc1", *source), side("dc2", *target), may_be_one=False)


def test_one_that_is_meant_is_none():
    check_two_clusters(side("dc1", "a"), side("dc2", "a"), may_be_one=True)
