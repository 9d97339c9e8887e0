package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.MemoryOffsetBackingStore;
import org.apache.kafka.connect.storage.OffsetStorageWriter;
import org.apache.kafka.connect.util.Callback;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;

/** Kafka Connect's offsets as its own writer hands them to the producer. */
final class ConnectOffsets {
    /** Key, value and partition of each offset; "kind" says of which connector it is. */
    static JsonNode written(JsonNode request) throws Exception {
        ArrayNode answer = Peer.JSON.createArrayNode();
        for (JsonNode each : request.required("offsets")) {
            Store store = new Store();
            store.start();
            try (JsonConverter keys = converter(true); JsonConverter values = converter(false)) {
                OffsetStorageWriter writer = new OffsetStorageWriter(store, each.required("connector").asText(), keys, values);
                writer.offset(partition(each), MirrorUtils.wrapOffset(each.required("offset").asLong()));
                writer.beginFlush();
                writer.doFlush((error, result) -> { }).get();
            } finally {
                store.stop();
            }
            store.written.forEach((key, value) -> answer.addArray()
                .add(HexFormat.of().formatHex(key.array()))
                .add(HexFormat.of().formatHex(value.array()))
                .add(BuiltInPartitioner.partitionForKey(key.array(), each.required("partitions").asInt())));
        }
        return answer;
    }

    private static Map<String, ?> partition(JsonNode each) {
        String first = each.required("first").asText();
        String second = each.required("second").asText();
        int number = each.required("partition").asInt();
        return switch (each.required("kind").asText()) {
            case "source" -> MirrorUtils.wrapPartition(new TopicPartition(second, number), first);
            case "checkpoint" -> new Checkpoint(second, new TopicPartition(first, number), 0, 0, "").connectPartition();
            default -> new Heartbeat(first, second, 0).connectPartition();
        };
    }

    private static JsonConverter converter(boolean isKey) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), isKey);
        return converter;
    }

    private static final class Store extends MemoryOffsetBackingStore {
        private Map<ByteBuffer, ByteBuffer> written = Map.of();

        @Override
        public Future<Void> set(Map<ByteBuffer, ByteBuffer> values, Callback<Void> callback) {
            written = values;
            return super.set(values, callback);
        }

        @Override
        public Set<Map<String, Object>> connectorPartitions(String connector) {
            return Set.of();
        }
    }

    private ConnectOffsets() {
    }
}
