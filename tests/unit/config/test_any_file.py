"""Whatever stands in a file: a configuration comes out, or a ConfigurationError, and never anything else."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS
from kafka_mirror.config.flow import CLIENTS
from kafka_mirror.config.policies import config_property_filter, group_filter, topic_selection
from kafka_mirror.errors import ConfigurationError

HEAD = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=h:2\na->b.enabled=true\n"
PREFIXES = (
    "",
    "a->b.",
    "b->a.",
    "a.",
    "b.",
    "a.consumer.",
    "b.producer.",
    "a->b.source.consumer.",
    "a->b.producer.override.",
    "config.providers.",
)
NAMES = (
    *CATALOGUE,
    *CLIENT_KEYS,
    "enabled",
    "isolation.level",
    "acks",
    "compression.type",
    "auto.offset.reset",
    "batch.size",
    "nonsense",
    "",
)
VALUES = (
    *("", " ", "true", "-1", "0", "7", "1.5", "99999999999999999999", "١", "x", "a,b", "a,,b", ".*", "(", "[a", r"\\Q", "a=b, c", "=", ":"),
    *("${env:A}", "${env:NONE}", "${env", "${vault:x}", "${file:/none:x}", "${dir:/none:x}", "${conn:x:password}", "${:}", "PT1H", "P1D"),
    *(
        "timestamp:2026-01-01",
        "timestamp:x",
        "offset:5",
        "offset:99999999999999999999",
        "by_duration:P1D",
        "by_duration:P",
        "skip-and-record",
    ),
    *(
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "os.path",
        "os:path",
        "no.such",
        "PLAIN",
        "SCRAM-SHA-512",
        "SASL_SSL",
        "JKS",
    ),
    *(
        "org.x.Y required username=a password=b;",
        "org.x.Y required username='a",
        "-----BEGIN",
        "(?c)a",
        r"(a)\\2",
        "\\u0000",
        "\\ud83d",
        "\xff",
    ),
)
lines = st.builds("{}{}={}".format, st.sampled_from(PREFIXES), st.sampled_from(NAMES), st.sampled_from(VALUES))
files = st.lists(lines, max_size=12).map(lambda found: (HEAD + "\n".join(found)).encode("latin-1", "replace")) | st.binary(max_size=80)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=files)
@example(content=(HEAD + "b.producer.key.converter=x").encode())
def test_any_file_is_a_configuration_or_a_configuration_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mm2.properties"
    path.write_bytes(content)
    try:
        found = load([path], {"A": "x"})
    except ConfigurationError as error:
        assert error.problems
        return
    for invalid in found.invalid:
        assert invalid.error.problems
        assert str(invalid.error)
    for flow in found.flows:
        for name in CATALOGUE:
            with suppress(ConfigurationError):
                flow.value(name)
        for make in (topic_selection, group_filter, config_property_filter):
            with suppress(ConfigurationError):
                make(flow)
        for side, role in CLIENTS:
            with suppress(ConfigurationError):
                flow.client(side, role)


@pytest.mark.parametrize("pattern", ["(", "[a", "*"])
def test_a_wrong_pattern_of_allowed_variables_is_told_with_the_reference(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "mm2.properties"
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    declared = f"config.providers=p\nconfig.providers.p.class={provider}\nconfig.providers.p.param.allowlist.pattern={pattern}\n"
    path.write_text(HEAD + declared + "a->b.mirror.lanes=${p:A}\n")
    with pytest.raises(ConfigurationError, match=r"the reference \$\{p:A\} cannot be read"):
        load([path], {"A": "4"}).flow("a->b").value("mirror.lanes")
