"""Schemas of one registry brought to another one, both of which answer as Confluent's API reference says."""

import itertools
import logging
import signal
import subprocess
import sys
import textwrap

import httpx
import pytest

from kafka_mirror.config import load
from kafka_mirror.errors import ConfigurationError, RegistryRefused, RegistryUnreachable, UsageError
from kafka_mirror.topics.schemas.run import NO_REGISTRY, are_equal, find_newest_schemas, step, sync_schemas, translate_to_target
from services.schema_registry import schema_registry

MONEY = '{"type": "record", "name": "Money", "fields": []}'
ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "price", "type": "Money"}]}'


@pytest.fixture
def registries():
    """Two registries: (address, what it holds) of the source and of the target."""
    with schema_registry() as source, schema_registry() as target:
        yield source, target


@pytest.fixture
def flow(registries, tmp_path):
    """The flow between the two, with further properties."""

    def made(**properties):
        (source, _), (target, _) = registries
        lines = {
            "clusters": "east, west",
            "east.bootstrap.servers": "a:1",
            "west.bootstrap.servers": "b:1",
            "east->west.enabled": "true",
            "mirror.one.cluster": "true",
            "mirror.schemas.source.url": source,
            "mirror.schemas.target.url": target,
            **{f"mirror.schemas.{name.replace('__', '.')}": value for name, value in properties.items()},
        }
        path = tmp_path / "mm2.properties"
        path.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
        return load([path]).flow("east->west")

    return made


def filled(held):
    """Two subjects, of which one refers to the other, and one in a context of its own."""
    held.register("payments-value", '"string"')
    held.register("money", MONEY)
    held.register("orders-value", ORDER, references=[{"name": "Money", "subject": "money", "version": 1}])
    held.register("orders-value", ORDER + " ", references=[{"name": "Money", "subject": "money", "version": 1}])
    held.register(":.prod:orders-value", "message Order {}", schemaType="PROTOBUF", metadata={"properties": {"owner": "shop"}})
    held.compatibility["orders-value"] = "FULL"


def test_the_target_gets_versions_ids_references_and_settings_and_a_second_run_writes_nothing(registries, flow):
    (_, source), (_, target) = registries
    for _ in range(5):
        source.register("before", f'"{_}"')
    filled(source)

    done = sync_schemas(flow())

    assert done.errors == ()
    assert target.subjects == source.subjects
    assert target.modes == {}, "what was needed for the ids is taken back"
    assert target.compatibility == {"orders-value": "FULL"}
    assert [str(change.name) for change in done.changed] == ["orders-value"]

    target.calls.clear()
    again = step(flow())
    assert {call.split()[0] for call in target.calls} == {"GET"}
    assert again.lines == ("Both registries are equal: 10 versions with the same ids.",)
    assert (again.result["present"], again.errors) == (10, ())


def test_a_flow_without_registries_has_nothing_to_do(flow):
    said = step(flow(**{"source.url": "", "target.url": ""}))
    assert said.lines == (f"Skipped: {NO_REGISTRY}.",)
    assert said.errors == ()


def test_whether_both_are_equal_is_known_without_writing(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    assert not are_equal(flow())
    assert target.subjects == {}
    sync_schemas(flow())
    assert are_equal(flow())


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    said = step(flow(), dry_run=True)
    assert {call.split()[0] for call in target.calls} == {"GET"}
    assert target.subjects == {}
    assert said.result["registered"]["subject"] == ["payments-value", ":.prod:orders-value", "money", "orders-value", "orders-value"]
    assert "orders-value version 2 (id 4): would be registered." in said.lines
    assert "orders-value: its compatibility would be set to FULL (it was BACKWARD)." in said.lines


def test_what_was_deleted_on_the_source_stays_and_is_told(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    sync_schemas(flow())
    source.deleted.add(("payments-value", 1))
    said = step(flow())
    assert "payments-value version 1 (id 1): deleted on the source, and stays on the target." in said.lines
    assert ("payments-value" in target.subjects, said.errors) == (True, ())


def test_an_id_that_is_another_schema_on_the_target_is_red_and_a_context_of_its_own_mends_it(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    target.register("own", '"int"')
    said = step(flow())
    [error] = said.errors
    assert error.code == "SchemaConflict"
    assert (
        "payments-value version 1 (id 1) cannot be had on the target: on the target the id 1 is another schema: own version 1"
        in error.message
    )
    assert "orders-value" in target.subjects, "the others come"

    assert step(flow(contexts=". -> .east, .prod -> .east-prod")).errors == ()
    assert target.subjects[":.east:payments-value"][1]["id"] == 1
    assert {name for name in target.subjects if name.startswith(":.east-prod:")} == {":.east-prod:orders-value"}


def test_only_the_chosen_subjects_come_with_what_they_refer_to(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    sync_schemas(flow(subjects="orders.*"))
    assert sorted(target.subjects) == [":.prod:orders-value", "money", "orders-value"]


def test_a_registry_that_does_not_allow_ids_to_be_kept_is_named_with_what_to_do(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    target.forbids_import = True
    errors = step(flow()).errors
    assert {error.code for error in errors} == {"RegistryRefused"}
    assert "refused to put money into the mode IMPORT: 422 Operation not permitted." in " ".join(error.message for error in errors)
    assert "mode.mutability=true" in errors[0].next
    assert target.subjects == {}


def test_a_registry_without_modes_can_be_a_source(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    source.has_no_modes = True
    assert step(flow()).errors == ()
    assert target.subjects == source.subjects


def test_a_registry_without_modes_cannot_be_a_target_and_nothing_is_written_to_it(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    target.has_no_modes = True
    errors = step(flow()).errors
    assert {error.code for error in errors} == {"RegistryRefused"}
    assert "refused to put money into the mode IMPORT: 200 the mode is READWRITE all the same" in " ".join(map(str, errors))
    assert target.subjects == {}


def test_a_registry_that_gives_other_ids_is_red_and_gets_nothing_more(registries, flow):
    (_, source), (_, target) = registries
    for name in "abcd":
        source.register(name, f'{{"type": "fixed", "name": "{name}", "size": 1}}')
    source.deleted.add(("a", 1))
    target.ignores_ids = True
    [error] = step(flow()).errors
    assert set(target.subjects) == {"b"}
    assert (error.code, error.message) == (
        "SchemaIdChanged",
        "The target's registry gave b version 1 (id 2) the id 1, so records that name its id cannot be read there.",
    )


def test_a_subject_that_fails_keeps_back_what_refers_to_it_and_nothing_else(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    target.broken = {"money"}
    errors = step(flow()).errors
    assert {error.code for error in errors} == {"RegistryUnreachable"}
    assert sorted(target.subjects) == [":.prod:orders-value", "payments-value"]
    assert target.modes == {}
    target.broken = set()
    assert step(flow()).errors == ()
    assert target.subjects == source.subjects


def test_a_subject_of_the_target_that_is_read_only_gets_its_versions_and_stays_as_the_source_has_it(registries, flow):
    (_, source), (_, target) = registries
    filled(source)
    source.modes["money"] = "READONLY"
    assert step(flow()).errors == ()
    assert target.modes == {"money": "READONLY"}
    source.modes.clear()
    source.register("money", '"double"')
    source.modes["money"] = "READONLY"
    assert step(flow()).errors == ()
    assert (target.subjects["money"].keys(), target.modes) == ({1, 2}, {"money": "READONLY"})


@pytest.mark.parametrize(
    ("held", "given"),
    [
        ({"user_info": "mirror:se:cret"}, {"source.basic.auth.user.info": "mirror:se:cret"}),
        ({"token": "t0ken"}, {"source.bearer.auth.token": "t0ken"}),
    ],
)
def test_logins(registries, flow, held, given):
    with schema_registry(**held) as (url, source):
        filled(source)
        with pytest.raises(RegistryRefused, match="The schema registry of the source refused to list its subjects: 401 Unauthorized"):
            step(flow(**{"source.url": url}))
        assert step(flow(**{"source.url": url}, **given)).errors == ()


def test_the_next_address_is_asked_where_one_does_not_answer(registries, flow):
    (url, source), _ = registries
    filled(source)
    assert step(flow(**{"source.url": f"http://127.0.0.1:9, {url}"})).errors == ()
    with pytest.raises(RegistryUnreachable, match=r"The schema registry of the source did not answer at http://127\.0\.0\.1:9"):
        step(flow(**{"source.url": "http://127.0.0.1:9"}))


def test_a_certificate_that_cannot_be_read_is_one_sentence(flow, tmp_path):
    with pytest.raises(UsageError, match=r"The certificates for the schema registry of the source cannot be used: .*No such file"):
        step(flow(**{"source.ssl.ca.location": str(tmp_path / "ca.pem")}))
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(UsageError, match=r"Correct mirror\.schemas\.source\.ssl\.\*"):
        step(flow(**{"source.ssl.ca.location": str(tmp_path / "ca.pem")}))


def test_an_address_that_is_no_registry_is_one_sentence(flow, monkeypatch):
    monkeypatch.setattr("httpx.Client.request", lambda *_args, **_options: httpx.Response(200, text="<html>a page</html>"))
    with pytest.raises(RegistryRefused, match="an answer that is no JSON, so this is no schema registry: <html>a page</html>"):
        step(flow())


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"target.url": ""}, "mirror.schemas.target.url is missing"),
        ({"source.url": "registry:8081"}, "has to begin with http:// or https://"),
        ({"contexts": "prod -> x"}, "is not of the form"),
        ({"source.basic.auth.user.info": "a:b", "source.bearer.auth.token": "c"}, "there are two logins"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_the_file_is_read(flow, properties, why):
    with pytest.raises(ConfigurationError, match=why):
        flow(**properties)


_RUN = """
    import sys
    from kafka_mirror.config import load
    from kafka_mirror.topics.schemas.run import step
    sys.exit(bool(step(load([sys.argv[1]]).flow("east->west")).errors))
"""


def test_runs_that_are_killed_anywhere_leave_the_rest_to_the_next_one(registries, flow, tmp_path):
    (_, source), (_, target) = registries
    for number in range(40):
        source.register(f"subject-{number % 13}", f'"{number}"')
    flow()
    for last in (1, 3, 8, 21):
        run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(_RUN), str(tmp_path / "mm2.properties")])
        writes = itertools.count(1)
        target.on_write = lambda writes=writes, last=last, run=run: run.kill() if next(writes) == last else None
        assert run.wait(120) == -signal.SIGKILL
    target.on_write = lambda: None
    assert step(flow()).errors == ()
    assert (target.subjects, target.modes) == (source.subjects, {})


def test_members_that_take_no_subject_are_named(registries, flow):
    filled(registries[0][1])
    assert "'paymnets.*'" in step(flow(subjects="orders.*, paymnets.*")).lines[-1]
    assert not any("is taken by" in line for line in step(flow(subjects="orders.*, payments-value")).lines)


@pytest.fixture
def flow_of(tmp_path):
    """`flow_of(address)`: whose source has this registry."""

    def made(url, **properties):
        lines = {
            "clusters": "east, west",
            "east.bootstrap.servers": "a:1",
            "west.bootstrap.servers": "b:1",
            "east->west.enabled": "true",
            **({"mirror.schemas.source.url": url, "mirror.schemas.target.url": url} if url else {}),
            **properties,
        }
        file = tmp_path / "mm2.properties"
        file.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
        return load([file]).flow("east->west")

    return made


def test_the_newest_versions_of_key_and_value_count_and_ids_are_the_same_on_the_target(flow_of):
    with schema_registry() as (url, held):
        held.register("orders-key", '"string"')
        held.register("orders-value", '"int"')
        held.register("orders-value", '"long"')
        found = find_newest_schemas(flow_of(url), ["orders", "clicks"])
    assert {topic: [(str(each.name), each.version, each.id) for each in versions] for topic, versions in found.items()} == {
        "orders": [("orders-key", 1, 1), ("orders-value", 2, 3)]
    }
    moved = translate_to_target(flow_of("http://a", **{"mirror.schemas.contexts": ". -> .copy"}), found["orders"])
    assert [(str(each.name), each.id) for each in moved] == [(":.copy:orders-key", 1), (":.copy:orders-value", 3)]


def test_a_flow_without_registries_names_none(flow_of):
    assert find_newest_schemas(flow_of(""), ["orders"]) == {}


def test_a_registry_that_is_away_is_told_and_keeps_nobody_from_anything(flow_of, caplog):
    with schema_registry() as (url, _):
        pass
    with caplog.at_level(logging.WARNING):
        assert find_newest_schemas(flow_of(url), ["orders"]) == {}
    assert "east->west: the lineage names no schemas: " in caplog.text
