"""The properties of the whole file (`MirrorMakerConfig`): what the driver of MirrorMaker 2 reads before there is any flow."""

from kafka_mirror.config.catalogue.property import Property
from kafka_mirror.config.catalogue.values import Type

GROUP = "the whole file"
_NO_WORKER = "there is no Connect worker and no REST server"


def _rest(name: str, type_: Type, default: object, doc: str) -> Property:
    return Property(name, type_, default, doc, GROUP, effect=_NO_WORKER)


DRIVER = (
    Property(
        "clusters", "LIST", None, "The aliases of the clusters; required. An alias becomes part of topic names: choose it once.", GROUP
    ),
    Property(
        "config.providers",
        "LIST",
        (),
        "Names of further providers of references, each with `config.providers.<name>.class` (EnvVarConfigProvider, FileConfigProvider or "
        "DirectoryConfigProvider) and `.param.<key>`. `env`, `file`, `dir` and `conn` are there without.",
        GROUP,
    ),
    _rest("dedicated.mode.enable.internal.rest", "BOOLEAN", False, "Whether the nodes of MirrorMaker 2 talk to each other."),
    _rest("listeners", "LIST", ("http://:8083",), "Where its REST server listens."),
    _rest("rest.advertised.host.name", "STRING", None, "The host name that it tells other nodes."),
    _rest("rest.advertised.port", "INT", None, "The port that it tells other nodes."),
    _rest("rest.advertised.listener", "STRING", None, "The listener that it tells other nodes."),
    _rest("access.control.allow.origin", "STRING", "", "Its Access-Control-Allow-Origin header."),
    _rest("access.control.allow.methods", "STRING", "", "Its Access-Control-Allow-Methods header."),
    _rest("response.http.headers.config", "STRING", "", "Rules for its response headers."),
    _rest("ssl.client.auth", "STRING", "none", "Whether it asks for client certificates."),
)
