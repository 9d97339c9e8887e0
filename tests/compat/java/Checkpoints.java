package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** What MirrorCheckpointTask decides, with translations that the request gives instead of offset syncs. */
final class Checkpoints {
    private static final String GROUP = "group";

    /** Rounds of committed offsets with their translations; gives the checkpoints that each round emits. */
    static JsonNode emitted(JsonNode request) {
        Map<TopicPartition, Long> translations = new HashMap<>();
        OffsetSyncStore syncs = new OffsetSyncStore() {
            @Override
            public OptionalLong translateDownstream(String group, TopicPartition partition, long upstream) {
                Long found = translations.get(partition);
                return found == null ? OptionalLong.empty() : OptionalLong.of(found);
            }
        };
        CheckpointStore store = new CheckpointStore(new HashMap<>());
        MirrorCheckpointTask task = new MirrorCheckpointTask(
            request.required("source").asText(), request.required("target").asText(), new DefaultReplicationPolicy(), syncs,
            Set.of(GROUP), new HashMap<>(), store);
        ArrayNode answer = Peer.JSON.createArrayNode();
        for (JsonNode round : request.required("rounds")) {
            Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
            translations.clear();
            for (JsonNode row : round) {
                TopicPartition partition = partition(row);
                committed.put(partition, new OffsetAndMetadata(row.required("upstream").asLong(), row.required("metadata").asText()));
                if (!row.path("downstream").isNull()) {
                    translations.put(partition, row.path("downstream").asLong());
                }
            }
            Map<TopicPartition, Checkpoint> checkpoints = task.checkpointsForGroup(committed, GROUP);
            store.update(GROUP, checkpoints);
            ArrayNode rows = answer.addArray();
            checkpoints.values().forEach(each -> rows.addArray()
                .add(each.topicPartition().topic()).add(each.topicPartition().partition())
                .add(each.upstreamOffset()).add(each.downstreamOffset()).add(each.metadata()));
        }
        return answer;
    }

    /** The offsets that would be committed on the target for groups that are idle there, or not there. */
    static JsonNode synced(JsonNode request) throws Exception {
        Map<String, Map<TopicPartition, Checkpoint>> checkpoints = new HashMap<>();
        Map<String, Map<TopicPartition, OffsetAndMetadata>> idle = new HashMap<>();
        request.required("groups").properties().forEach(entry -> {
            Map<TopicPartition, Checkpoint> wanted = new HashMap<>();
            for (JsonNode row : entry.getValue().required("wanted")) {
                wanted.put(partition(row), new Checkpoint(entry.getKey(), partition(row), 1, row.required("offset").asLong(), ""));
            }
            checkpoints.put(entry.getKey(), wanted);
            JsonNode there = entry.getValue().path("committed");
            if (!there.isNull()) {
                Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
                for (JsonNode row : there) {
                    committed.put(partition(row), new OffsetAndMetadata(row.required("offset").asLong()));
                }
                idle.put(entry.getKey(), committed);
            }
        });
        ObjectNode answer = Peer.JSON.createObjectNode();
        MirrorCheckpointTask task = new MirrorCheckpointTask(
            "east", "west", new DefaultReplicationPolicy(), null, checkpoints.keySet(), idle, new CheckpointStore(checkpoints)) {
            @Override
            void syncGroupOffset(String group, Map<TopicPartition, OffsetAndMetadata> offsets) {
                ArrayNode rows = answer.putArray(group);
                offsets.forEach((partition, at) -> rows.addArray().add(partition.topic()).add(partition.partition()).add(at.offset()));
            }
        };
        task.syncGroupOffset();
        return answer;
    }

    private static TopicPartition partition(JsonNode row) {
        return new TopicPartition(row.required("topic").asText(), row.required("partition").asInt());
    }

    private Checkpoints() {
    }
}
