package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Map;

/** Replication policies, filters, and MirrorSourceConnector's choice of topics, configured with the request's "properties". */
final class Names {
    /** Everything a policy says of each topic, and the names it gives for each alias. */
    static JsonNode policy(JsonNode request) {
        ReplicationPolicy policy = configured(request);
        ObjectNode answer = Peer.JSON.createObjectNode();
        ArrayNode topics = answer.putArray("topics");
        for (JsonNode each : request.required("topics")) {
            String topic = each.asText();
            topics.addObject()
                .put("topic_source", policy.topicSource(topic))
                .put("upstream_topic", policy.upstreamTopic(topic))
                .put("original_topic", policy.originalTopic(topic))
                .put("is_heartbeats_topic", policy.isHeartbeatsTopic(topic))
                .put("is_checkpoints_topic", policy.isCheckpointsTopic(topic))
                .put("is_mm2_internal_topic", policy.isMM2InternalTopic(topic))
                .put("is_internal_topic", policy.isInternalTopic(topic));
        }
        ArrayNode aliases = answer.putArray("aliases");
        for (JsonNode each : request.required("aliases")) {
            String alias = each.asText();
            ArrayNode remote = aliases.addObject()
                .put("offset_syncs_topic", policy.offsetSyncsTopic(alias))
                .put("checkpoints_topic", policy.checkpointsTopic(alias))
                .put("heartbeats_topic", policy.heartbeatsTopic())
                .putArray("remote");
            request.required("topics").forEach(topic -> remote.add(policy.formatRemoteTopic(alias, topic.asText())));
        }
        return answer;
    }

    /** Which of the names each of the three filters takes. */
    static JsonNode filters(JsonNode request) throws Exception {
        Map<String, String> properties = Peer.strings(request.required("properties"));
        try (TopicFilter topics = new DefaultTopicFilter(); GroupFilter groups = new DefaultGroupFilter();
             ConfigPropertyFilter configs = new DefaultConfigPropertyFilter()) {
            topics.configure(properties);
            groups.configure(properties);
            configs.configure(properties);
            ArrayNode answer = Peer.JSON.createArrayNode();
            for (JsonNode name : request.required("names")) {
                answer.addArray()
                    .add(topics.shouldReplicateTopic(name.asText()))
                    .add(groups.shouldReplicateGroup(name.asText()))
                    .add(configs.shouldReplicateConfigProperty(name.asText()))
                    .add(configs.shouldReplicateSourceDefault(name.asText()));
            }
            return answer;
        }
    }

    /** Which of the topics MirrorSourceConnector replicates, with policy and filter as configured. */
    static JsonNode selection(JsonNode request) throws Exception {
        Map<String, String> properties = Peer.strings(request.required("properties"));
        SourceAndTarget flow = new SourceAndTarget(request.required("source").asText(), request.required("target").asText());
        try (TopicFilter filter = new DefaultTopicFilter()) {
            filter.configure(properties);
            MirrorSourceConnector connector =
                new MirrorSourceConnector(flow, configured(request), filter, null, request.required("heartbeats").asBoolean());
            ArrayNode answer = Peer.JSON.createArrayNode();
            request.required("topics").forEach(topic -> answer.add(connector.shouldReplicateTopic(topic.asText())));
            return answer;
        }
    }

    private static ReplicationPolicy configured(JsonNode request) {
        DefaultReplicationPolicy policy =
            request.path("identity").asBoolean() ? new IdentityReplicationPolicy() : new DefaultReplicationPolicy();
        policy.configure(Peer.strings(request.required("properties")));
        return policy;
    }

    private Names() {
    }
}
