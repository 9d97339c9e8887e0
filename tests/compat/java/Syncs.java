package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.formatters.CheckpointFormatter;
import org.apache.kafka.connect.mirror.formatters.HeartbeatFormatter;
import org.apache.kafka.connect.mirror.formatters.OffsetSyncFormatter;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.OptionalLong;

/** Internal records, the store of offset syncs, and which records of a copy are worth one. */
final class Syncs {
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);

    /** What Java reads in a record's bytes, the bytes it makes of that, and what the console consumer's formatter shows. */
    static JsonNode record(JsonNode request) {
        ConsumerRecord<byte[], byte[]> record = consumed(bytes(request, "key"), bytes(request, "value"));
        ArrayNode fields = Peer.JSON.createArrayNode();
        switch (request.required("kind").asText()) {
            case "offset_sync":
                OffsetSync sync = OffsetSync.deserializeRecord(record);
                fields.add(sync.topicPartition().topic()).add(sync.topicPartition().partition());
                fields.add(sync.upstreamOffset()).add(sync.downstreamOffset());
                return read(fields, sync.recordKey(), sync.recordValue(), shown(new OffsetSyncFormatter(), record));
            case "checkpoint":
                Checkpoint checkpoint = Checkpoint.deserializeRecord(record);
                fields.add(checkpoint.consumerGroupId()).add(checkpoint.topicPartition().topic());
                fields.add(checkpoint.topicPartition().partition()).add(checkpoint.upstreamOffset());
                fields.add(checkpoint.downstreamOffset()).add(checkpoint.metadata());
                return read(fields, checkpoint.recordKey(), checkpoint.recordValue(), shown(new CheckpointFormatter(), record));
            default:
                Heartbeat heartbeat = Heartbeat.deserializeRecord(record);
                fields.add(heartbeat.sourceClusterAlias()).add(heartbeat.targetClusterAlias()).add(heartbeat.timestamp());
                return read(fields, heartbeat.recordKey(), heartbeat.recordValue(), shown(new HeartbeatFormatter(), record));
        }
    }

    /** The slots and translations of a store that was given pairs before it reached the end of its topic, and more of them afterwards. */
    static JsonNode store(JsonNode request) {
        OffsetSyncStore store = new OffsetSyncStore() {
            @Override
            void backingStoreStart() {
                request.required("loaded").forEach(pair -> handleRecord(synced(pair)));
            }

            @Override
            public void start(boolean initializationMustReadToEnd) {
                super.start(initializationMustReadToEnd);
                request.required("live").forEach(pair -> handleRecord(synced(pair)));
            }
        };
        store.start(request.required("must_read_to_end").asBoolean());
        ArrayNode slots = Peer.JSON.createArrayNode();
        for (int slot = 0; slot < OffsetSyncStore.SYNCS_PER_PARTITION; slot++) {
            OffsetSync sync = store.syncFor(PARTITION, slot);
            slots.addArray().add(sync.upstreamOffset()).add(sync.downstreamOffset());
        }
        ArrayNode translated = Peer.JSON.createArrayNode();
        request.required("groups").forEach(group -> {
            OptionalLong answer = store.translateDownstream("group", PARTITION, group.asLong());
            translated.add(answer.isPresent() ? answer.getAsLong() : null);
        });
        ObjectNode answer = Peer.JSON.createObjectNode();
        answer.set("slots", slots);
        answer.set("translated", translated);
        return answer;
    }

    /** Which records of a partition, in their order, are synced at once. */
    static JsonNode emitted(JsonNode request) {
        OffsetSyncWriter.PartitionState state = new OffsetSyncWriter.PartitionState(request.required("lag_max").asLong());
        ArrayNode emitted = Peer.JSON.createArrayNode();
        request.required("records").forEach(pair -> {
            if (state.update(pair.get(0).asLong(), pair.get(1).asLong())) {
                emitted.add(pair);
                state.reset();
            }
        });
        return emitted;
    }

    private static ConsumerRecord<byte[], byte[]> synced(JsonNode pair) {
        OffsetSync sync = new OffsetSync(PARTITION, pair.get(0).asLong(), pair.get(1).asLong());
        return consumed(sync.recordKey(), sync.recordValue());
    }

    private static ConsumerRecord<byte[], byte[]> consumed(byte[] key, byte[] value) {
        return new ConsumerRecord<>("internal", 0, 0, key, value);
    }

    private static byte[] bytes(JsonNode request, String name) {
        return HexFormat.of().parseHex(request.required(name).asText());
    }

    private static String shown(MessageFormatter formatter, ConsumerRecord<byte[], byte[]> record) {
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        formatter.writeTo(record, new PrintStream(shown, true, StandardCharsets.UTF_8));
        return shown.toString(StandardCharsets.UTF_8);
    }

    private static JsonNode read(ArrayNode fields, byte[] key, byte[] value, String shown) {
        ObjectNode answer = Peer.JSON.createObjectNode().put("key", HexFormat.of().formatHex(key)).put("value", HexFormat.of().formatHex(value));
        answer.put("shown", shown).set("fields", fields);
        return answer;
    }

    private Syncs() {
    }
}
