"""Lists of patterns, of which each member must be able to match something."""

import pytest

TOPICS = ("topics", "topics.exclude", "mirror.assets.topics", "mirror.backfill.into.allowed")


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("member", ['"orders', "'pay'", "a b", r".*\replica", "[ ;]", "x;y", "$ENV-orders", "orders:.*"])
def test_a_member_that_no_topic_can_match_is_an_error_that_names_it(problems, name, member):
    found = problems(f"{name} = orders.*, {member}\n")
    assert "no topic can ever match '" in found[name] and "letters, digits" in found[name]


@pytest.mark.parametrize("member", ['min.insync.replicas"', "min insync"])
def test_a_member_that_no_config_can_match_is_an_error(problems, member):
    assert "no config can ever match" in problems(f"config.properties.exclude = {member}\n")["config.properties.exclude"]


@pytest.mark.parametrize("name", ["groups", "groups.exclude", "mirror.schemas.subjects"])
def test_a_member_that_no_text_at_all_can_match_is_an_error(problems, name):
    assert "can ever match 'shop-$ENV'" in problems(f"{name} = shop-$ENV\n")[name]


@pytest.mark.parametrize("name", ["mirror.start", "mirror.on.gap"])
def test_a_rule_by_topic_that_is_for_no_topic_is_an_error(problems, name):
    word = "latest" if name == "mirror.start" else "fail"
    assert "no topic can ever match" in problems(f"{name} = or ders={word}\n")[name]


def test_a_renamed_group_that_no_topic_can_match_is_an_error(problems):
    assert "no topic can ever match" in problems("mirror.rename = shop[.]([ ]+) -> store.$1\n")["mirror.rename"]


def test_what_a_member_cannot_match_because_of_an_escape_is_shown(problems):
    found = problems(".*".join(["topics.exclude = ", "\\replica\n"]))["topics.exclude"]
    assert r"'.*\replica'" in found and "\r" not in found and r" \\ for one" in found and r"\\\ for" not in found


@pytest.mark.parametrize("topics", ["", ".*", "(a,b)", "^$", "(?i)ORDERS, x", r"shop\\..*", "a{2}, (b", "^(?!__.*$).*"])
def test_lists_that_may_match_are_taken(problems, flow, topics):
    if topics == "a{2}, (b":
        assert "cannot be used" in problems(f"topics = {topics}\n")["topics"]
    else:
        flow(f"topics = {topics}\ntopics.exclude =\n")


def test_a_list_torn_by_a_comma_is_judged_as_it_is_joined(problems, flow):
    flow("topics = (orders,pay)[.]v1\n")
    assert "no topic can ever match" in problems("topics = (or ders,p ay)[.]v1\n")["topics"]


@pytest.mark.parametrize(("name", "member"), [("groups", '"shop'), ("groups", r"a\rb"), ("groups.exclude", "'connect-.*'")])
def test_quotes_and_control_characters_in_patterns_of_groups_are_taken_and_told(flow, name, member):
    (notice,) = flow(f"{name} = .*, {member}\n").notices
    assert name in notice and "belong to the name" in notice


def test_groups_of_any_other_text_are_taken_without_a_word(flow):
    assert flow("groups = my group, gr\\u00fcppe, a/b$\n").notices == ()


def test_what_a_reference_leads_to_is_judged_when_it_is_read(flow):
    from kafka_mirror.config.validate import unreadable

    (problem,) = unreadable(flow("topics = ${env:TOPICS}\n", {"TOPICS": '"orders"'}))
    assert problem.property == "topics" and "orders" not in problem.message
