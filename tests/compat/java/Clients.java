package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** What MirrorClient and RemoteClusterUtils say of a cluster. */
final class Clients {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** Everything that can be asked about topics. */
    static JsonNode topics(JsonNode request) throws Exception {
        ObjectNode answer = Peer.JSON.createObjectNode();
        try (MirrorClient client = new MirrorClient(properties(request))) {
            answer.set("heartbeat_topics", Peer.JSON.valueToTree(new TreeSet<>(client.heartbeatTopics())));
            answer.set("checkpoint_topics", Peer.JSON.valueToTree(new TreeSet<>(client.checkpointTopics())));
            answer.set("upstream_clusters", Peer.JSON.valueToTree(new TreeSet<>(client.upstreamClusters())));
            answer.set("remote_topics", Peer.JSON.valueToTree(new TreeSet<>(client.remoteTopics())));
            ObjectNode hops = answer.putObject("hops");
            ObjectNode remote = answer.putObject("remote_topics_of");
            for (JsonNode alias : request.required("aliases")) {
                hops.put(alias.asText(), client.replicationHops(alias.asText()));
                remote.set(alias.asText(), Peer.JSON.valueToTree(new TreeSet<>(client.remoteTopics(alias.asText()))));
            }
        }
        return answer;
    }

    /** A group's offsets by RemoteClusterUtils, "topic-partition" to offset and metadata. */
    static JsonNode translated(JsonNode request) throws Exception {
        return offsets(RemoteClusterUtils.translateOffsets(
            properties(request), request.required("alias").asText(), request.required("group").asText(), PATIENCE));
    }

    /** The same for all groups that match. */
    static JsonNode translatedMatching(JsonNode request) {
        ObjectNode answer = Peer.JSON.createObjectNode();
        RemoteClusterUtils.translateOffsets(
            properties(request), request.required("alias").asText(), Pattern.compile(request.required("pattern").asText()), PATIENCE)
            .forEach((group, found) -> answer.set(group, offsets(found)));
        return answer;
    }

    private static ObjectNode offsets(Map<TopicPartition, OffsetAndMetadata> found) {
        ObjectNode answer = Peer.JSON.createObjectNode();
        found.forEach((partition, at) -> answer.putArray(partition.toString()).add(at.offset()).add(at.metadata()));
        return answer;
    }

    private static Map<String, Object> properties(JsonNode request) {
        return new HashMap<>(Peer.strings(request.required("properties")));
    }

    private Clients() {
    }
}
