"""SASL: from Java's `sasl.*`, the login module (`sasl.jaas.config`) above all, to librdkafka's settings.

Kerberos: not librdkafka's kinit holds the ticket, whose cache all processes of a host would share, but this process
(`kafka_mirror.kafka.client_login`). OAUTHBEARER and AWS_MSK_IAM: librdkafka itself gets tokens by client credentials with a secret; every
other way is a class of `kafka_mirror.logins` or the user's, whose name and properties are settings of the client.
"""

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_mirror.config.clients.catalogue import CLIENT_HANDLERS, NO_JAVA, OAUTH_HANDLERS, OAUTH_RETRIEVERS, TOKEN_CLASSES
from kafka_mirror.config.policies import custom_class
from kafka_mirror.config.setting import MappedSettings, Setting
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.logins import TokenProvider
from kafka_mirror.logins.token import CLASS, GSSAPI, KEYTAB, PRINCIPAL, PROPERTIES, SERVICE, TICKET_CACHE

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
      | "(?P<double>(?:[^"\\\r\n]|\\.)*)" | '(?P<single>(?:[^'\\\r\n]|\\.)*)'
      | (?P<mark>[;=]) | (?P<word>[^\s;="']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMES = {"\\": "\\\\", '"': '\\"', **{character: f"\\{letter}" for letter, character in _CONTROL.items()}}
_FLAGS = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True)
class LoginModule:
    """The Java class and its options; the options hold secrets."""

    name: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def simple_name(self) -> str:
        """The class without its package."""
        return self.name.rpartition(".")[2]


def parse_jaas(text: str) -> LoginModule:
    """The one login module of the text. Raises ValueError that says what is wrong and never quotes the text: it holds a password."""
    tokens = list(_split(text))
    ends = [index for index, (kind, value) in enumerate(tokens) if (kind, value) == ("mark", ";")]
    if not ends or ends[-1] != len(tokens) - 1:
        raise ValueError("has to end with a semicolon")
    if len(ends) > 1:
        raise ValueError(f"holds {len(ends)} login modules; it must be one")
    body = tokens[:-1]
    if len(body) < 2 or any(kind == "mark" for kind, _ in body[:2]) or body[1][1].lower() not in _FLAGS:
        raise ValueError('must be: <login module class> required <option>="<value>" …;')
    options: dict[str, str] = {}
    rest = body[2:]
    for first in range(0, len(rest), 3):
        match rest[first : first + 3]:
            case [("word" | "quoted", name), ("mark", "="), ("word" | "quoted", value)]:
                options[name] = value
            case _:
                raise ValueError('has an option that is not <option>="<value>"; put the value in quotes, and \\ before a quote in it')
    return LoginModule(body[0][1], options)


def jaas_text(module: str, options: Mapping[str, str]) -> str:
    """The text that `parse_jaas` reads as this login module with these options."""
    quoted = {name: "".join(_NAMES.get(character, character) for character in value) for name, value in options.items()}
    return " ".join([module, "required", *(f'{name}="{value}"' for name, value in quoted.items())]) + ";"


def _split(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("has a quote that is not closed")
        position = match.end()
        if match.lastgroup in ("double", "single"):
            yield "quoted", _ESCAPE.sub(_unescape, match.group(match.lastgroup))
        elif match.lastgroup:
            yield match.lastgroup, match.group()


def _unescape(match: re.Match[str]) -> str:
    what = match.group(1)
    return chr(int(what, 8)) if what[0] in "01234567" else _CONTROL.get(what, what)


_INSTEAD = (
    "Or log in to the same brokers by a client certificate (security.protocol=SSL), SCRAM-SHA-512 or OAUTHBEARER, on a listener of its own "
    "if need be"
)
_NO_SASL = (
    "GSSAPI (Kerberos) is not possible with this confluent-kafka, whose package brings a librdkafka without it. Build it against a "
    f"librdkafka that has it (pip install --no-binary confluent-kafka confluent-kafka), here and on Spark's workers. {_INSTEAD}"
)
_NO_GSSAPI = f"GSSAPI (Kerberos) needs the Python package gssapi, here and on Spark's workers. {_INSTEAD}"


def why_impossible() -> str:
    """Why no client of this environment can log in by Kerberos; empty if it can."""
    client = importlib.util.find_spec("confluent_kafka")
    if client is not None and client.origin is not None and Path(client.origin).parent.with_name("confluent_kafka.libs").exists():
        return _NO_SASL  # a package of PyPI: it has its libraries beside it
    return "" if importlib.util.find_spec("gssapi") else _NO_GSSAPI


def _map_kerberos(mapped: MappedSettings, module: LoginModule | None) -> None:
    """Map the login by a keytab or a ticket cache. Java's rules (Kafka's KerberosLogin): one service name, from either place."""
    jaas = mapped.java.get("sasl.jaas.config")
    if module is None or jaas is None or jaas.unresolved:
        return
    _set_service(mapped, jaas, module)
    options = module.options
    principal, keytab = options.get("principal", ""), options.get("keyTab", "")
    if _is_true(options, "useKeyTab"):
        if not principal or not keytab:
            mapped.refuse(jaas, "with useKeyTab=true it has to have the options keyTab and principal")
        else:
            mapped.put(KEYTAB, keytab.removeprefix("file:"), jaas)
            mapped.put(PRINCIPAL, principal, jaas)
            if mapped.client.files and not Path(keytab.removeprefix("file:")).is_file():
                mapped.refuse(jaas, f"names the keytab {keytab}, and there is no such file")
    elif _is_true(options, "useTicketCache"):
        mapped.put(TICKET_CACHE, options.get("ticketCache", ""), jaas)
    else:
        mapped.refuse(
            jaas, "has to have useKeyTab=true, with keyTab and principal, or useTicketCache=true: no person is there to type a password"
        )


def _set_service(mapped: MappedSettings, jaas: Setting, module: LoginModule) -> None:
    named, setting = module.options.get("serviceName", ""), mapped.java.get(SERVICE)
    if setting is not None and setting.unresolved:
        return
    text = setting.text.strip() if setting is not None else ""
    if named and text and named != text:
        mapped.refuse(jaas, f"has the serviceName {named}, and {SERVICE} is {text}; they must be the same")
    elif named or text:
        mapped.put(SERVICE, named or text, setting or jaas)
    else:
        mapped.refuse(SERVICE, "is missing: the brokers' own name in Kerberos, which is kafka nearly everywhere")


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


_HANDLER = "sasl.login.callback.handler.class"
_RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
_URL = "sasl.oauthbearer.token.endpoint.url"
_ASSERTION = "sasl.oauthbearer.assertion."
_DEFAULT, _CLIENT_CREDENTIALS, _FILE, _JWT_BEARER = OAUTH_RETRIEVERS
_NEAREST = (
    "For client credentials name Kafka's own OAuthBearerLoginCallbackHandler, "
    "for Microsoft Entra ID kafka_mirror.logins.azure_entra.EntraTokens"
)


def _map_oauth(mapped: MappedSettings, module: LoginModule | None) -> None:
    """Map `sasl.oauthbearer.*` and the classes that Java's clients would load. What is not resolved yet is left for later."""
    handler, retriever = mapped.java.get(_HANDLER), mapped.java.get(_RETRIEVER)
    if any(setting and setting.unresolved for setting in (handler, retriever)):
        return
    named = handler.text.strip() if handler else ""
    if handler and named not in ("", *OAUTH_HANDLERS):
        _log_in_by_class(mapped, TOKEN_CLASSES.get(named, named), handler, module)
        return
    way = (retriever.text.strip() if retriever else "") or _DEFAULT
    if retriever and way not in OAUTH_RETRIEVERS:
        mapped.refuse(retriever, f"a Java class cannot be loaded here; known are {', '.join(OAUTH_RETRIEVERS)}")
    elif way == _FILE or (way == _DEFAULT and _URL in mapped.java and mapped.java[_URL].text.strip().lower().startswith("file:")):
        _log_in_by_class(mapped, "kafka_mirror.logins.oauth.TokenFile", mapped.java["sasl.mechanism"], module)
    elif way == _JWT_BEARER:
        _log_in_by_class(mapped, "kafka_mirror.logins.oauth.JwtBearer", mapped.java["sasl.mechanism"], module)
    elif _ASSERTION + "file" in mapped.java or _ASSERTION + "claim.iss" in mapped.java:
        _log_in_by_class(mapped, "kafka_mirror.logins.oauth.ClientAssertion", mapped.java["sasl.mechanism"], module)
    else:
        _log_in_by_secret(mapped, module)


def _log_in_by_class(mapped: MappedSettings, kind: str, said: Setting, module: LoginModule | None) -> None:
    """Tokens of a class. It is made once to see whether it can be: `said` is the setting that asks for it."""
    given = {name: setting for name, setting in mapped.java.items() if name == "bootstrap.servers" or name.startswith("sasl.oauthbearer.")}
    jaas = mapped.java.get("sasl.jaas.config")
    if any(setting.unresolved for setting in given.values()) or (jaas and (jaas.unresolved or module is None)):
        return
    properties = {name: setting.text.strip() for name, setting in given.items()} | dict(module.options if module else {})
    try:
        custom_class("sasl.login.callback.handler.class", kind, TokenProvider)(properties)
    except ConfigurationError as error:
        mapped.refuse(said, f"{error.problems[0].message}. {_NEAREST}")
    except (ValueError, ImportError) as error:
        mapped.refuse(said, str(error))
    except Exception as error:  # noqa: BLE001 — whatever a user's class does
        mapped.refuse(said, f"cannot be constructed: {type(error).__name__}: {error}")
    mapped.put(CLASS, kind, said)
    mapped.put(PROPERTIES, json.dumps(properties, sort_keys=True), jaas, *given.values())


def _log_in_by_secret(mapped: MappedSettings, module: LoginModule | None) -> None:
    """Client credentials (KIP-768)."""
    options = module.options if module else {}
    jaas = mapped.java.get("sasl.jaas.config")
    wanted = (
        (_URL, _URL, "", True),
        ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id", "clientId", True),
        ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret", "clientSecret", True),
        ("sasl.oauthbearer.scope", "sasl.oauthbearer.scope", "scope", False),
    )
    mapped.put("sasl.oauthbearer.method", "oidc", mapped.java["sasl.mechanism"])
    for name, property_name, option, needed in wanted:
        if property_name in mapped.java:
            mapped.take(name, mapped.java[property_name], str.strip)
        elif option in options:
            assert jaas is not None
            mapped.take(name, jaas._replace(text=options[option]), str)
        elif needed and not (jaas and jaas.unresolved and module is None):
            mapped.refuse(
                property_name,
                "is missing, and client credentials need it; for tokens of another kind name a class in sasl.login.callback.handler.class",
            )
    extensions = [f"{name.removeprefix('extension_')}={value}" for name, value in options.items() if name.startswith("extension_")]
    if extensions and jaas and not jaas.unresolved:
        mapped.put("sasl.oauthbearer.extensions", ",".join(extensions), jaas)


_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
    GSSAPI: "Krb5LoginModule",
}
_TOKENS = ("OAUTHBEARER", "AWS_MSK_IAM")
_KNOWN = f"{', '.join(_MODULES)} are possible"


def sasl_settings(mapped: MappedSettings) -> None:
    """Map `sasl.*` of a client whose protocol is SASL_PLAINTEXT or SASL_SSL."""
    setting = mapped.java.get("sasl.mechanism")
    if setting is not None and setting.unresolved:
        return
    mechanism = setting.text.strip().upper() if setting is not None else GSSAPI
    impossible = why_impossible() if mechanism == GSSAPI else ""
    if setting is None and impossible:
        mapped.refuse("sasl.mechanism", f"is missing, and Java's default, {impossible}")
        return
    if setting is not None and (impossible or mechanism not in _MODULES):
        mapped.refuse(setting, impossible or f"this mechanism is not possible here; {_KNOWN}")
        if "sasl.jaas.config" in mapped.java:
            _parse_module(mapped, mapped.java["sasl.jaas.config"])
        return
    _refuse_java_classes(mapped, mechanism)
    module = _find_login_module(mapped, mechanism)
    mapped.put("sasl.mechanism", "OAUTHBEARER" if mechanism in _TOKENS else mechanism, setting)
    if mechanism == "OAUTHBEARER":
        _map_oauth(mapped, module)
    elif mechanism == "AWS_MSK_IAM":
        # The same brokers take the same signature as a token, at the same port.
        _log_in_by_class(mapped, "kafka_mirror.logins.clouds.MskIamTokens", mapped.java["sasl.mechanism"], module)
    elif mechanism == GSSAPI:
        _map_kerberos(mapped, module)
    elif module is not None:
        _set_password(mapped, mapped.java["sasl.jaas.config"], module)


def _refuse_java_classes(mapped: MappedSettings, mechanism: str) -> None:
    """Which class gives tokens is for OAUTHBEARER to say; there is no other that could be named."""
    login = mapped.java.get("sasl.login.callback.handler.class") if mechanism != "OAUTHBEARER" else None
    for setting, allowed in (
        (mapped.java.get("sasl.login.class"), ()),
        (mapped.java.get("sasl.client.callback.handler.class"), CLIENT_HANDLERS),
        (login, ()),
    ):
        if setting is not None and not setting.unresolved and setting.text.strip() not in ("", *allowed):
            mapped.refuse(setting, NO_JAVA)


def _find_login_module(mapped: MappedSettings, mechanism: str) -> LoginModule | None:
    setting = mapped.java.get("sasl.jaas.config")
    if setting is None:
        if mechanism not in _TOKENS:
            how = "with keytab and principal, or a ticket cache" if mechanism == GSSAPI else "username and password"
            mapped.refuse("sasl.jaas.config", f"is missing; for {mechanism} it has to name the {_MODULES[mechanism]}, {how}")
        return None
    module = _parse_module(mapped, setting)
    if module is not None and module.simple_name != _MODULES[mechanism]:
        mapped.refuse(setting, f"names the {module.simple_name}, but {mechanism} needs the {_MODULES[mechanism]}")
        return None
    return module


def _parse_module(mapped: MappedSettings, setting: Setting) -> LoginModule | None:
    try:
        return parse_jaas(setting.text)
    except ValueError as error:
        if not setting.unresolved:
            mapped.refuse(setting, str(error))
        return None


def _set_password(mapped: MappedSettings, setting: Setting, module: LoginModule) -> None:
    if module.options.get("tokenauth", "").lower() == "true":
        mapped.refuse(setting, "delegation tokens (tokenauth) are not possible with librdkafka; use a user of its own")
    for option in ("username", "password"):
        if option not in module.options:
            mapped.refuse(setting, f"has no option {option}")
        elif not setting.unresolved:
            mapped.put(f"sasl.{option}", module.options[option], setting)
