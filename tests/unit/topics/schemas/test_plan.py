"""What a target's registry lacks, in which order it gets it, and what it cannot have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.policy.rename import parse_contexts
from kafka_mirror.topics.schemas.plan import (
    Contexts,
    Reference,
    RegistryContent,
    SchemaVersion,
    SettingsChange,
    SubjectName,
    SubjectSettings,
    plan,
)

KEPT = Contexts({})


def version(subject, number=1, id_=1, text="{}", references=(), type_="AVRO"):
    return SchemaVersion(SubjectName.parse(subject), number, id_, text, type_, tuple(references))


def registry(*versions, settings=None, deleted=()):
    named = {SubjectName.parse(name): each for name, each in (settings or {}).items()}
    gone = frozenset((SubjectName.parse(name), number) for name, number in deleted)
    return RegistryContent({(each.name, each.version): each for each in versions}, named, gone)


def planned(source, target, contexts=KEPT, takes=lambda _name: True):
    return plan(source, target, contexts, takes)


def test_names_are_read_and_written_as_the_api_has_them():
    for text in ("orders-value", ":.prod:orders-value", ":.prod:", "a:b"):
        assert str(SubjectName.parse(text)) == text
    assert SubjectName.parse(":.prod:orders") == SubjectName(".prod", "orders")


def test_what_the_target_lacks_is_registered_in_the_order_of_ids():
    source = registry(version("b", 1, 5), version("a", 1, 7, "1"), version("a", 2, 6, "2"))
    assert [(each.id) for each in planned(source, registry()).register] == [5, 6, 7]
    found = planned(source, registry(version("b", 1, 5)))
    assert ([each.id for each in found.register], found.present, found.is_equal) == ([6, 7], 1, False)


def test_what_is_referred_to_comes_first_and_is_taken_though_nobody_chose_it():
    refers = version("orders", 1, 1, "order", [Reference("money", "money", 2)])
    source = registry(refers, version("money", 1, 3, "m1"), version("money", 2, 4, "m2"), version("other", 1, 9, "o"))
    found = planned(source, registry(), takes=lambda name: name.subject == "orders")
    assert [(str(each.name), each.version) for each in found.register] == [("money", 2), ("orders", 1)]


def test_both_registries_are_equal_if_texts_differ_only_in_blanks():
    found = planned(registry(version("a", text='{"type": "string"}')), registry(version("a", text='{"type":"string"}')))
    assert (found.is_equal, found.present) == (True, 1)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (version("a", 1, 1, "other"), "the target has another schema as this version (id 1)"),
        (version("a", 1, 8, "text"), "the target has the same schema with the id 8"),
        (version("b", 3, 1, "other"), "on the target the id 1 is another schema: b version 3"),
    ],
)
def test_what_cannot_have_its_id_is_a_conflict_and_what_refers_to_it_too(there, why):
    source = registry(version("a", 1, 1, "text"), version("c", 1, 2, "c", [Reference("a", "a", 1)]), version("d", 1, 3, "d"))
    found = planned(source, registry(there))
    assert [str(each.version.name) for each in found.conflicts] == ["a", "c"]
    assert found.conflicts[0].why == why
    assert found.conflicts[1].why == "it refers to a version 1, which cannot be had either"
    assert [str(each.name) for each in found.register] == ["d"]


def test_one_id_may_stand_in_several_subjects_of_one_context_and_for_another_schema_in_another_one():
    source = registry(version("a", 1, 1, "x"), version("b", 1, 1, "x"), version(":.prod:a", 1, 1, "y"))
    found = planned(source, registry(version("a", 1, 1, "x")))
    assert ([str(each.name) for each in found.register], found.conflicts) == (["b", ":.prod:a"], ())


def test_contexts_have_other_names_on_the_target_and_so_have_references_that_name_them():
    contexts = Contexts(parse_contexts([".prod -> .copy", ". -> .east"]))
    refers = version(":.prod:a", 1, 1, "a", [Reference("m", ":.prod:m", 1), Reference("n", "n", 1)])
    source = registry(refers, version(":.prod:m", 1, 2, "m"), version(":.prod:n", 1, 3, "n"), version("z", 1, 1, "z"))
    found = planned(source, registry(), contexts)
    assert [str(each.name) for each in found.register] == [":.copy:m", ":.copy:n", ":.copy:a", ":.east:z"]
    assert [each.subject for each in found.register[2].references] == [":.copy:m", "n"]


def test_what_only_the_target_has_is_told_and_what_was_deleted_on_the_source_is_told_as_that():
    target = registry(version("a"), version("gone", 1, 2, "g"), version("own", 1, 3, "o"), version(":.other:x", 1, 1, "x"))
    found = planned(registry(version("a"), deleted=[("gone", 1)]), target)
    assert ([str(each.name) for each in found.extra], [str(each.name) for each in found.deleted]) == (["own"], ["gone"])
    assert found.is_equal


def test_a_subject_gets_the_sources_compatibility_and_mode():
    source = registry(version("a"), settings={"a": SubjectSettings("FULL", "READONLY")})
    target = registry(version("a"), settings={"a": SubjectSettings("BACKWARD", "IMPORT", "IMPORT")})
    name = SubjectName.parse("a")
    assert planned(source, target).settings == (
        SettingsChange(name, "compatibility", "BACKWARD", "FULL"),
        SettingsChange(name, "mode", "IMPORT", "READONLY"),
    )


@pytest.mark.parametrize("rule", ["prod -> .x", ".a", ".a -> b", ".a: -> .b", " -> .b"])
def test_rules_that_cannot_be_used_are_refused(rule):
    with pytest.raises(ValueError, match=r"is not of the form \.context -> \.context"):
        parse_contexts([rule])


def test_two_rules_may_not_meet():
    with pytest.raises(ValueError, match="names a context that another rule names"):
        parse_contexts([".a -> .c", ".b -> .c"])


@st.composite
def registries(draw):
    """A registry in which versions refer to some that were registered before."""
    versions = []
    for number in range(draw(st.integers(1, 12))):
        subject = draw(st.sampled_from(["a", "b", ":.x:a", ":.x:c"]))
        name = SubjectName.parse(subject)
        before = [each for each in versions if each.name.context == name.context]
        chosen = draw(st.lists(st.sampled_from(before), max_size=2, unique=True)) if before else []
        references = [Reference(f"r{each.id}", each.name.subject, each.version) for each in chosen]
        count = 1 + sum(each.name == name for each in versions)
        versions.append(version(subject, count, number + 1, f"text {number}", references))
    return registry(*versions)


@given(registries(), st.randoms())
def test_after_any_part_of_a_plan_the_rest_is_planned_and_then_both_are_equal(source, dice):
    whole = planned(source, registry())
    part = whole.register[: dice.randint(0, len(whole.register))]
    rest = planned(source, registry(*part))
    assert [*part, *rest.register] and {*part, *rest.register} == {*source.versions.values()}
    assert planned(source, registry(*part, *rest.register)).is_equal
    given_ = set()
    for each in (*part, *rest.register):
        assert all((reference.resolve(each.name.context), reference.version) in given_ for reference in each.references)
        given_.add((each.name, each.version))
