import pytest

from kafka_mirror.config.references import has_reference, read_providers
from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import ConfigurationError


def resolve(text, environ=None, **raw):
    settings = {key: Setting(value, key) for key, value in raw.items()}
    return read_providers(settings, environ or {}).resolve(Setting(text, "west.x"))


def complaint(text, environ=None, **raw):
    with pytest.raises(ConfigurationError) as raised:
        resolve(text, environ, **raw)
    (problem,) = raised.value.problems
    assert problem.property == "west.x"
    assert problem.value is None
    return problem.message


def provider(class_, name="mine", **params):
    return {
        "config.providers": name,
        f"config.providers.{name}.class": f"org.apache.kafka.common.config.provider.{class_}",
        **{f"config.providers.{name}.param.{key.replace('_', '.')}": value for key, value in params.items()},
    }


@pytest.mark.parametrize(("text", "found"), [("${env:A}", True), ("${file:/a:b}", True), ("${A}", False), ("$env:A", False), ("a", False)])
def test_what_is_a_reference(text, found):
    assert has_reference(text) is found


def test_several_references_in_one_value_and_no_recursion():
    assert resolve("<${env:A}|${env:B}>", {"A": "${env:B}", "B": "2"}) == "<${env:B}|2>"


def test_env_of_a_missing_variable_is_named():
    assert complaint("${env:NOPE}") == "the reference ${env:NOPE} cannot be read: the environment variable NOPE is not set"


def test_env_without_a_given_environment_is_the_processs_own(monkeypatch):
    monkeypatch.setenv("MIRROR_TEST_VARIABLE", "x")
    assert read_providers({}).resolve(Setting("${env:MIRROR_TEST_VARIABLE}", "a")) == "x"


def test_file_reads_a_property_in_utf_8(tmp_path):
    (tmp_path / "s.properties").write_text("password = p\u00e4ss\\\\w\nother=1\n", "utf-8")
    assert resolve(f"${{file:{tmp_path}/s.properties:password}}") == "p\u00e4ss\\w"


def test_file_complaints_name_the_reference_and_nothing_of_the_file(tmp_path):
    (tmp_path / "s.properties").write_text("secret = hidden\n")

    assert f"{tmp_path}/s.properties has no property 'nope'" in complaint(f"${{file:{tmp_path}/s.properties:nope}}")
    assert "No such file" in complaint(f"${{file:{tmp_path}/none:nope}}")
    assert "no path is given" in complaint("${file:nope}")
    (tmp_path / "b").write_bytes(b"\xff=hidden")
    assert "hidden" not in complaint(f"${{file:{tmp_path}/b:x}}")


def test_dir_reads_a_whole_file_as_it_is(tmp_path):
    (tmp_path / "password").write_text("secret\n")
    assert resolve(f"${{dir:{tmp_path}:password}}") == "secret\n"
    assert "is not the name of a file" in complaint(f"${{dir:{tmp_path}:../x}}")
    assert "No such file" in complaint(f"${{dir:{tmp_path}:x}}")


def test_declared_providers_work_under_any_name(tmp_path):
    (tmp_path / "f").write_text("k=v")
    assert resolve(f"${{mine:{tmp_path}/f:k}}", **provider("FileConfigProvider")) == "v"
    assert resolve(f"${{mine:{tmp_path}:f}}", **provider("DirectoryConfigProvider")) == "k=v"
    assert resolve("${mine:A}", {"A": "v"}, **provider("EnvVarConfigProvider")) == "v"
    assert resolve("${env:A}", {"A": "v"}, **provider("FileConfigProvider")) == "v"


def test_declared_providers_keep_their_limits(tmp_path):
    (tmp_path / "f").write_text("k=v")
    inside = provider("FileConfigProvider", allowed_paths=f"/nowhere, {tmp_path}")
    outside = provider("FileConfigProvider", allowed_paths=f"{tmp_path}/deeper")

    assert resolve(f"${{mine:{tmp_path}/f:k}}", **inside) == "v"
    assert "allowed.paths" in complaint(f"${{mine:{tmp_path}/f:k}}", **outside)
    assert "allowed.paths" in complaint(f"${{mine:{tmp_path}/deeper/../f:k}}", **outside)
    assert "allowlist.pattern" in complaint("${mine:B}", {"B": "v"}, **provider("EnvVarConfigProvider", allowlist_pattern="A.*"))


@pytest.mark.parametrize(
    ("text", "raw", "reason"),
    [
        ("${vault:secret/a:hidden}", {}, "no config provider of this name; known are conn, dir, env, file"),
        ("${conn:kafka:hidden}", {}, "a connection has no such field; known are host, port, login, password, schema and extra.<key>"),
        ("${conn:password}", {}, "no connection is named"),
        ("${a:hidden}", {"config.providers": "a", "config.providers.a.class": "my.Provider"}, "'my.Provider', a Java class"),
        ("${a:hidden}", {"config.providers": "a"}, "config.providers.a.class is missing"),
    ],
)
def test_unknown_providers_are_found_without_resolving_and_what_follows_stays_unsaid(text, raw, reason):
    settings = {key: Setting(value, key) for key, value in raw.items()}

    (problem,) = read_providers(settings, {}).check(Setting(text, "west.x"))

    assert problem.property == "west.x"
    assert "hidden" not in str(problem)
    with pytest.raises(ConfigurationError, match=reason):
        read_providers(settings, {}).resolve(Setting(text, "x"))


def test_known_providers_are_not_asked_by_the_check():
    assert read_providers({}, {}).check(Setting("${env:NOPE} ${file:/none:x} ${dir:/none:x}", "a")) == []


def test_every_unreadable_reference_of_a_value_is_reported():
    with pytest.raises(ConfigurationError) as raised:
        resolve("${env:A}${env:B}")
    assert len(raised.value.problems) == 2
