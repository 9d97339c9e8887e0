package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigTransformer;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.connector.Connector;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What MirrorMaker 2 makes of a configuration: the maps of its file, and what its connectors read and refuse. */
final class Configurations {
    private static final List<Connector> CONNECTORS =
        List.of(new MirrorSourceConnector(), new MirrorCheckpointConnector(), new MirrorHeartbeatConnector());

    /** From the bytes of a file: clusters, pairs, and for each flow the maps of worker, connectors and clients. */
    static JsonNode file(JsonNode request) throws IOException {
        Map<String, String> raw = Utils.propsToStringMap(Texts.load(request));
        raw.put("plugin.discovery", "service_load"); // no connector sees it, and without it every file costs a scan of the class path
        MirrorMakerConfig config = new MirrorMakerConfig(raw);
        ObjectNode answer = Peer.JSON.createObjectNode();
        answer.set("clusters", Peer.JSON.valueToTree(config.clusters()));
        ArrayNode pairs = answer.putArray("pairs");
        config.clusterPairs().forEach(pair -> pairs.add(pair.toString()));
        ArrayNode enabled = answer.putArray("enabled");
        raw.keySet().removeIf(key -> key.matches(".*->.*[.]emit[.]heartbeats[.]enabled"));
        raw.put("emit.heartbeats.enabled", "false"); // what is left are the pairs that are enabled themselves
        new MirrorMakerConfig(raw).clusterPairs().forEach(pair -> enabled.add(pair.toString()));
        ObjectNode flows = answer.putObject("flows");
        for (JsonNode each : request.required("flows")) {
            SourceAndTarget flow = new SourceAndTarget(each.get(0).asText(), each.get(1).asText());
            flows.set(flow.toString(), flow(config, flow));
        }
        return answer;
    }

    private static ObjectNode flow(MirrorMakerConfig config, SourceAndTarget flow) {
        ObjectNode answer = Peer.JSON.createObjectNode();
        answer.set("worker", Peer.JSON.valueToTree(config.workerConfig(flow)));
        Map<String, String> source = config.connectorBaseConfig(flow, MirrorSourceConnector.class);
        answer.set("connector", Peer.JSON.valueToTree(source));
        answer.set("clients", clients(source));
        answer.put("alike", CONNECTORS.stream().map(each -> ofAny(config, flow, each)).distinct().count() == 1);
        return answer;
    }

    /** A connector's map without what names the connector. */
    private static Map<String, String> ofAny(MirrorMakerConfig config, SourceAndTarget flow, Connector connector) {
        Map<String, String> map = new HashMap<>(config.connectorBaseConfig(flow, connector.getClass()));
        map.keySet().removeAll(List.of("name", "connector.class"));
        return map;
    }

    /** Null where the connector's map itself is not valid. */
    private static JsonNode clients(Map<String, String> connector) {
        try {
            MirrorSourceConfig config = new MirrorSourceConfig(connector);
            Map<String, Map<String, Object>> clients = new HashMap<>();
            clients.put("source admin", config.sourceAdminConfig("x"));
            clients.put("source consumer", config.sourceConsumerConfig("x"));
            clients.put("source producer", config.sourceProducerConfig("x"));
            clients.put("target admin", config.targetAdminConfig("x"));
            clients.put("target consumer", config.targetConsumerConfig("x"));
            clients.put("target producer", config.targetProducerConfig("x"));
            return Peer.JSON.valueToTree(clients);
        } catch (ConfigException refused) {
            return Peer.JSON.nullNode();
        }
    }

    /** What MirrorMaker 2 defines: the names that the top level of a file hands to the connectors, and those that clients inherit. */
    static JsonNode names(JsonNode request) {
        ObjectNode answer = Peer.JSON.createObjectNode();
        Map<String, String> file = Map.of("clusters", "A,B", "plugin.discovery", "service_load");
        answer.set("top_level", Peer.JSON.valueToTree(new MirrorMakerConfig(file).allConfigNames()));
        answer.set("clients", Peer.JSON.valueToTree(MirrorClientConfig.CLIENT_CONFIG_DEF.names()));
        return answer;
    }

    /** Of a connector's map: the value of each property or what is wrong with it, and which connector would not be created. */
    static JsonNode connectors(JsonNode request) {
        Map<String, String> properties = Peer.strings(request.required("properties"));
        ObjectNode answer = Peer.JSON.createObjectNode();
        ObjectNode values = answer.putObject("values");
        ObjectNode errors = answer.putObject("errors");
        ObjectNode refused = answer.putObject("refused");
        for (Connector connector : CONNECTORS) {
            for (ConfigValue each : connector.config().validate(properties)) {
                if (each.errorMessages().isEmpty()) {
                    values.set(each.name(), plain(each.value()));
                } else {
                    errors.set(each.name(), Peer.JSON.valueToTree(each.errorMessages()));
                }
            }
            List<String> messages = connector.validate(properties).configValues().stream()
                .flatMap(each -> each.errorMessages().stream()).toList();
            refused.set(connector.getClass().getSimpleName(), Peer.JSON.valueToTree(messages));
        }
        return answer;
    }

    private static JsonNode plain(Object value) {
        if (value instanceof Class<?> type) {
            return Peer.JSON.valueToTree(type.getName());
        }
        return Peer.JSON.valueToTree(value instanceof Password password ? password.value() : value);
    }

    /** A text with the references that the three providers of Kafka resolve. */
    static JsonNode references(JsonNode request) throws Exception {
        Map<String, ConfigProvider> providers = new HashMap<>();
        for (Map.Entry<String, JsonNode> each : request.required("providers").properties()) {
            ConfigProvider provider = (ConfigProvider) Class.forName(each.getValue().required("class").asText())
                .getDeclaredConstructor().newInstance();
            provider.configure(Peer.strings(each.getValue().required("parameters")));
            providers.put(each.getKey(), provider);
        }
        ConfigTransformer transformer = new ConfigTransformer(providers);
        return Peer.JSON.valueToTree(transformer.transform(Peer.strings(request.required("properties"))).data());
    }

    private Configurations() {
    }
}
