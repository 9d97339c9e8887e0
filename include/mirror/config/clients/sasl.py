"""SASL: from Java's `sasl.*`, the login module above all, to librdkafka's.

`sasl.jaas.config`: one login module in the syntax of a JAAS file, as Kafka's `JaasConfig` reads it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mirror.config.clients.client_settings import MappedSettings
from mirror.config.clients.security_catalogue import NO_JAVA, OAUTH_HANDLERS, OAUTH_RETRIEVERS
from mirror.config.setting import Setting

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
      | "(?P<double>(?:[^"\\\r\n]|\\.)*)" | '(?P<single>(?:[^'\\\r\n]|\\.)*)'
      | (?P<mark>[;=]) | (?P<word>[^\s;="']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = ("required", "requisite", "sufficient", "optional")

_MODULES = {"PLAIN": "PlainLoginModule", "SCRAM-SHA-256": "ScramLoginModule", "SCRAM-SHA-512": "ScramLoginModule"}
_KNOWN = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER by client credentials are possible"
_CUSTOM = ("sasl.client.callback.handler.class", "sasl.login.class")


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
    tokens = list(_tokens(text))
    ends = [index for index, (kind, value) in enumerate(tokens) if (kind, value) == ("mark", ";")]
    if not ends or ends[-1] != len(tokens) - 1:
        raise ValueError("has to end with a semicolon")
    if len(ends) > 1:
        raise ValueError(f"holds {len(ends)} login modules; it has to be one")
    body = tokens[:-1]
    if len(body) < 2 or any(kind == "mark" for kind, _ in body[:2]) or body[1][1].lower() not in _FLAGS:
        raise ValueError('has to be: <login module class> required <option>="<value>" …;')
    options: dict[str, str] = {}
    rest = body[2:]
    for first in range(0, len(rest), 3):
        match rest[first : first + 3]:
            case [("word" | "quoted", name), ("mark", "="), ("word" | "quoted", value)]:
                options[name] = value
            case _:
                raise ValueError('has an option that is not <option>="<value>"; put the value in quotes, and \\ before a quote in it')
    return LoginModule(body[0][1], options)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
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


def sasl_settings(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str) -> None:
    """Map `sasl.*` of a client whose protocol is SASL_PLAINTEXT or SASL_SSL."""
    setting = settings.get("sasl.mechanism")
    if setting is None:
        mapped.refuse(
            f"{alias}.sasl.mechanism", f"is missing, and Java's default, GSSAPI (Kerberos), is not in librdkafka's build here; {_KNOWN}"
        )
        return
    if setting.unresolved:
        return
    mechanism = setting.text.strip().upper()
    if mechanism not in (*_MODULES, "OAUTHBEARER"):
        mapped.refuse(setting, f"this mechanism is not possible here; {_KNOWN}")
        if "sasl.jaas.config" in settings:
            _parsed(mapped, settings["sasl.jaas.config"])
        return
    mapped.put("sasl.mechanism", mechanism, setting)
    _refuse_java_classes(mapped, settings, mechanism)
    module = _login_module(mapped, settings, alias, mechanism)
    if mechanism == "OAUTHBEARER":
        _oauth(mapped, settings, alias, module)
    elif module is not None:
        _password(mapped, settings["sasl.jaas.config"], module, mechanism)


def _refuse_java_classes(mapped: MappedSettings, settings: Mapping[str, Setting], mechanism: str) -> None:
    handlers = OAUTH_HANDLERS if mechanism == "OAUTHBEARER" else ()
    for name, allowed in (*((each, ()) for each in _CUSTOM), ("sasl.login.callback.handler.class", handlers)):
        setting = settings.get(name)
        if setting is not None and not setting.unresolved and setting.text.strip() not in ("", *allowed):
            mapped.refuse(setting, NO_JAVA)


def _login_module(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str, mechanism: str) -> LoginModule | None:
    setting = settings.get("sasl.jaas.config")
    if setting is None:
        if mechanism != "OAUTHBEARER":
            mapped.refuse(
                f"{alias}.sasl.jaas.config", f"is missing; for {mechanism} it has to name the {_MODULES[mechanism]}, username and password"
            )
        return None
    return _parsed(mapped, setting)


def _parsed(mapped: MappedSettings, setting: Setting) -> LoginModule | None:
    try:
        return parse_jaas(setting.text)
    except ValueError as error:
        if not setting.unresolved:
            mapped.refuse(setting, str(error))
        return None


def _password(mapped: MappedSettings, setting: Setting, module: LoginModule, mechanism: str) -> None:
    if module.simple_name != _MODULES[mechanism]:
        mapped.refuse(setting, f"names the {module.simple_name}, but {mechanism} needs the {_MODULES[mechanism]}")
        return
    if module.options.get("tokenauth", "").lower() == "true":
        mapped.refuse(setting, "delegation tokens (tokenauth) are not possible with librdkafka; use a user of its own")
    for option in ("username", "password"):
        if option not in module.options:
            mapped.refuse(setting, f"has no option {option}")
        elif not setting.unresolved:
            mapped.put(f"sasl.{option}", module.options[option], setting)


def _oauth(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str, module: LoginModule | None) -> None:
    """OAUTHBEARER by client credentials (KIP-768); librdkafka has no other way that Java's settings describe."""
    options = module.options if module else {}
    jaas = settings.get("sasl.jaas.config")
    retriever = settings.get("sasl.oauthbearer.jwt.retriever.class")
    if retriever and not retriever.unresolved and retriever.text.strip() not in OAUTH_RETRIEVERS:
        mapped.refuse(retriever, "a Java class cannot be loaded here; only client credentials are possible")
    wanted = (
        ("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.token.endpoint.url", "", True),
        ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id", "clientId", True),
        ("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret", "clientSecret", True),
        ("sasl.oauthbearer.scope", "sasl.oauthbearer.scope", "scope", False),
    )
    mapped.put("sasl.oauthbearer.method", "oidc", settings["sasl.mechanism"])
    for name, property_name, option, needed in wanted:
        if property_name in settings:
            mapped.take(name, settings[property_name], str.strip)
        elif option in options:
            assert jaas is not None
            mapped.take(name, jaas._replace(text=options[option]), str)
        elif needed and not (jaas and jaas.unresolved and module is None):
            mapped.refuse(f"{alias}.{property_name}", "is missing; OAUTHBEARER is possible by client credentials only, which need it")
    extensions = [f"{name.removeprefix('extension_')}={value}" for name, value in options.items() if name.startswith("extension_")]
    if extensions and jaas and not jaas.unresolved:
        mapped.put("sasl.oauthbearer.extensions", ",".join(extensions), jaas)
